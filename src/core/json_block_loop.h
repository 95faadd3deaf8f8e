/** The loop of a path. The file that includes this has defined, all with PATH in front where a function needs its instructions:
 *
 *    json_text                                  64 bytes in registers
 *    json_text load(const char *)
 *    uint64_t quotes(const json_text *), backslashes(...), controls(...)
 *    json_bytes classify(const json_text *)     all the masks
 *    uint64_t parities(uint64_t)                bit i is the parity of the bits 0 .. i */

PATH static void look_at_blocks(rlmr_scan_carry *carry, const char *text, size_t count,
                                rlmr_json_block *blocks) {
    rlmr_scan_carry at = *carry;
    for (size_t i = 0; i < count; i++, text += JSON_BLOCK_BYTES) {
        json_text block = load(text);
        uint64_t quote = quotes(&block);
        /* Call stacks are most of a trace. */
        if (quote == 0 && at.string != 0) {
            json_string_block(backslashes(&block), controls(&block), &at, &blocks[i]);
            continue;
        }
        json_bytes bytes = classify(&block);
        uint64_t escaped = json_escaped(bytes.backslash, &at);
        quote &= ~escaped;
        json_any_block(&bytes, quote, escaped, parities(quote) ^ at.string, &at, &blocks[i]);
    }
    *carry = at;
}
