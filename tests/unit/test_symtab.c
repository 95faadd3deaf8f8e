#include "rlmr/symtab.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rlmr_symtab *open_table(void) {
    rlmr_symtab *tab = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&tab, NULL), RLMR_OK);
    return tab;
}

static uint32_t intern(rlmr_symtab *tab, rlmr_slice text) {
    uint32_t id = UINT32_MAX;
    CU_ASSERT_EQUAL(rlmr_symtab_intern(tab, text, &id, NULL), RLMR_OK);
    return id;
}

static void test_a_new_table_holds_the_empty_text(void) {
    rlmr_symtab *tab = open_table();
    uint32_t id = UINT32_MAX;
    CU_ASSERT_EQUAL(rlmr_symtab_count(tab), 1);
    CU_ASSERT_EQUAL(rlmr_symtab_text(tab, 0).bytes, 0);
    CU_ASSERT_PTR_NOT_NULL(rlmr_symtab_text(tab, 0).text);
    CU_ASSERT_EQUAL(intern(tab, RLMR_SLICE("")), 0);
    CU_ASSERT_EQUAL(intern(tab, (rlmr_slice){0}), 0);
    CU_ASSERT_TRUE(rlmr_symtab_find(tab, (rlmr_slice){0}, &id));
    CU_ASSERT_EQUAL(id, 0);
    CU_ASSERT_EQUAL(rlmr_symtab_count(tab), 1);
    rlmr_symtab_close(tab);
    rlmr_symtab_close(NULL);
}

static void test_equal_bytes_get_equal_ids(void) {
    rlmr_symtab *tab = open_table();
    char text[] = "aten::add";
    CU_ASSERT_EQUAL(intern(tab, rlmr_slice_of(text)), 1);
    text[0] = 'b'; /* the table has a copy */
    CU_ASSERT_EQUAL(intern(tab, rlmr_slice_of(text)), 2);
    CU_ASSERT_EQUAL(intern(tab, RLMR_SLICE("aten::add")), 1);
    CU_ASSERT_EQUAL(intern(tab, RLMR_SLICE("aten::add\0")), 3);
    CU_ASSERT_EQUAL(intern(tab, RLMR_SLICE("aten::add\0x")), 4);
    CU_ASSERT_EQUAL(intern(tab, RLMR_SLICE("aten::add\0y")), 5);
    CU_ASSERT_EQUAL(rlmr_symtab_count(tab), 6);
    CU_ASSERT_TRUE(rlmr_slice_equal(rlmr_symtab_text(tab, 4), RLMR_SLICE("aten::add\0x")));
    rlmr_symtab_close(tab);
}

static void test_finding_adds_nothing(void) {
    rlmr_symtab *tab = open_table();
    uint32_t id = 77;
    CU_ASSERT_FALSE(rlmr_symtab_find(tab, RLMR_SLICE("a"), &id));
    CU_ASSERT_EQUAL(id, 77);
    CU_ASSERT_EQUAL(rlmr_symtab_count(tab), 1);
    CU_ASSERT_EQUAL(intern(tab, RLMR_SLICE("a")), 1);
    CU_ASSERT_TRUE(rlmr_symtab_find(tab, RLMR_SLICE("a"), &id));
    CU_ASSERT_EQUAL(id, 1);
    rlmr_symtab_close(tab);
}

enum { MANY = 100000 };

static rlmr_slice numbered_text(char *buffer, size_t bytes, unsigned number) {
    int length = snprintf(buffer, bytes, "frame %u", number);
    return (rlmr_slice){buffer, (size_t)length};
}

static void test_ids_are_dense_and_stable_while_the_table_grows(void) {
    rlmr_symtab *tab = open_table();
    char text[32];
    const char **places = calloc(MANY + 1, sizeof *places);
    unsigned wrong = 0;
    for (unsigned i = 1; i <= MANY; i++) {
        wrong += intern(tab, numbered_text(text, sizeof text, i)) != i;
        places[i] = rlmr_symtab_text(tab, i).text;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(rlmr_symtab_count(tab), MANY + 1);
    for (unsigned i = 1; i <= MANY; i++) {
        uint32_t id = 0;
        rlmr_slice wanted = numbered_text(text, sizeof text, i);
        wrong += rlmr_symtab_text(tab, i).text != places[i];
        wrong += !rlmr_slice_equal(rlmr_symtab_text(tab, i), wanted);
        wrong += !rlmr_symtab_find(tab, wanted, &id) || id != i;
        wrong += intern(tab, wanted) != i;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(rlmr_symtab_count(tab), MANY + 1);
    free(places);
    rlmr_symtab_close(tab);
}

static void test_long_and_short_texts_stay_where_they_are(void) {
    enum { TEXTS = 60, LONGEST = 1 << 20 };
    rlmr_symtab *tab = open_table();
    char *buffer = malloc(LONGEST);
    rlmr_slice kept[TEXTS];
    for (uint32_t i = 0; i < TEXTS; i++) {
        size_t bytes = i % 3 == 0 ? LONGEST - i : (i % 3 == 1 ? 70000 + i : 10 + i);
        memset(buffer, 'a' + (int)(i % 26), bytes);
        CU_ASSERT_EQUAL(intern(tab, (rlmr_slice){buffer, bytes}), i + 1);
        kept[i] = rlmr_symtab_text(tab, i + 1);
        CU_ASSERT_EQUAL(kept[i].bytes, bytes);
    }
    for (uint32_t i = 0; i < TEXTS; i++) {
        char letter[] = {(char)('a' + (int)(i % 26)), '\0'};
        memset(buffer, letter[0], kept[i].bytes);
        CU_ASSERT_PTR_EQUAL(rlmr_symtab_text(tab, i + 1).text, kept[i].text);
        CU_ASSERT_TRUE(memcmp(kept[i].text, buffer, kept[i].bytes) == 0);
    }
    free(buffer);
    rlmr_symtab_close(tab);
}

/* ---- UTF-8 ---- */

#define BAD "\xEF\xBF\xBD"

typedef struct {
    rlmr_slice text;
    rlmr_slice clean;
} utf8_case;

/* Intern and compare; `*replaced` is checked against whether the text changes. */
static void check_utf8(rlmr_symtab *tab, const utf8_case *one) {
    uint32_t id = UINT32_MAX;
    bool replaced = false;
    CU_ASSERT_EQUAL(rlmr_symtab_intern_utf8(tab, one->text, &id, &replaced, NULL), RLMR_OK);
    CU_ASSERT_TRUE(rlmr_slice_equal(rlmr_symtab_text(tab, id), one->clean));
    CU_ASSERT_EQUAL(replaced, !rlmr_slice_equal(one->text, one->clean));
}

static void check_all_utf8(const utf8_case *cases, size_t count) {
    rlmr_symtab *tab = open_table();
    for (size_t i = 0; i < count; i++) {
        check_utf8(tab, &cases[i]);
    }
    rlmr_symtab_close(tab);
}

#define CASE(text_, clean_)                                                                                  \
    { RLMR_SLICE(text_), RLMR_SLICE(clean_) }
#define CHECK_ALL(cases) check_all_utf8(cases, sizeof(cases) / sizeof *(cases))

static void test_broken_utf8_is_replaced_as_unicode_recommends(void) {
    /* The examples of The Unicode Standard 15.0, section 3.9, tables 3-8 to 3-11, and that of version 6. */
    const utf8_case cases[] = {
        CASE("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", BAD BAD BAD BAD BAD BAD BAD BAD "A"),
        CASE("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", BAD BAD BAD BAD BAD BAD BAD BAD "A"),
        CASE("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", BAD BAD BAD BAD BAD "A" BAD BAD "B"),
        CASE("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", BAD BAD BAD BAD "A"),
        CASE("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", "a" BAD BAD BAD "b" BAD "c" BAD BAD "d"),
    };
    CHECK_ALL(cases);
}

static void test_a_character_cut_by_the_end_is_one_replacement(void) {
    const utf8_case cases[] = {
        CASE("x\xC3", "x" BAD),         CASE("x\xE2\x82", "x" BAD),     CASE("x\xE2", "x" BAD),
        CASE("x\xF0\x9F\x98", "x" BAD), CASE("x\xF0\x9F", "x" BAD),     CASE("x\xF0", "x" BAD),
        CASE("x\xE0\x80", "x" BAD BAD), CASE("x\xED\xA0", "x" BAD BAD), CASE("\x80", BAD),
    };
    CHECK_ALL(cases);
}

static void test_bytes_that_are_never_utf8_are_replaced_one_by_one(void) {
    const utf8_case cases[] = {
        CASE("\xC1\xBF", BAD BAD),
        CASE("\xF5\x80\x80\x80", BAD BAD BAD BAD),
        CASE("\xF8\x88\x80\x80\x80", BAD BAD BAD BAD BAD),
        CASE("\xFE\xFF", BAD BAD),
    };
    CHECK_ALL(cases);
}

static void test_a_nul_byte_is_replaced(void) {
    const utf8_case cases[] = {
        CASE("a\0b", "a" BAD "b"),
        CASE("\0", BAD),
        CASE("\xC3\0\xA9", BAD BAD BAD),
        CASE("ends in one\0", "ends in one" BAD),
    };
    CHECK_ALL(cases);
}

static void test_the_ends_of_every_range_are_valid(void) {
    const utf8_case cases[] = {
        CASE("", ""),
        CASE("plain", "plain"),
        CASE("\x01\x7F", "\x01\x7F"),
        CASE("\xC2\x80\xDF\xBF", "\xC2\x80\xDF\xBF"),                                 /* U+0080, U+07FF */
        CASE("\xE0\xA0\x80\xED\x9F\xBF", "\xE0\xA0\x80\xED\x9F\xBF"),                 /* U+0800, U+D7FF */
        CASE("\xEE\x80\x80\xEF\xBF\xBF", "\xEE\x80\x80\xEF\xBF\xBF"),                 /* U+E000, U+FFFF */
        CASE("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"), /* U+10000, U+10FFFF */
        CASE("\xF0\x9F\x98\x80 \xE4\xB8\xAD", "\xF0\x9F\x98\x80 \xE4\xB8\xAD"),
        CASE(BAD, BAD),
    };
    CHECK_ALL(cases);
}

static size_t encode_utf8(uint32_t scalar, char *out) {
    if (scalar < 0x80) {
        out[0] = (char)scalar;
        return 1;
    }
    size_t bytes = scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4;
    static const uint32_t leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = bytes - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (scalar & 0x3F));
        scalar >>= 6;
    }
    out[0] = (char)(leads[bytes] | scalar);
    return bytes;
}

static void test_every_character_of_unicode_is_kept(void) {
    rlmr_symtab *tab = open_table();
    char *text = malloc(4 * 0x110000);
    size_t bytes = 0;
    for (uint32_t scalar = 1; scalar < 0x110000; scalar++) {
        if (scalar < 0xD800 || scalar > 0xDFFF) {
            bytes += encode_utf8(scalar, text + bytes);
        }
    }
    check_utf8(tab, &(utf8_case){{text, bytes}, {text, bytes}});
    free(text);
    rlmr_symtab_close(tab);
}

static void test_every_surrogate_is_three_replacements(void) {
    rlmr_symtab *tab = open_table();
    for (uint32_t scalar = 0xD800; scalar <= 0xDFFF; scalar++) {
        char text[4];
        size_t bytes = encode_utf8(scalar, text);
        check_utf8(tab, &(utf8_case){{text, bytes}, RLMR_SLICE(BAD BAD BAD)});
    }
    CU_ASSERT_EQUAL(rlmr_symtab_count(tab), 2);
    rlmr_symtab_close(tab);
}

static void test_a_replaced_text_has_the_id_of_the_clean_one(void) {
    rlmr_symtab *tab = open_table();
    uint32_t clean = intern(tab, RLMR_SLICE("a" BAD));
    uint32_t id = UINT32_MAX;
    CU_ASSERT_EQUAL(rlmr_symtab_intern_utf8(tab, RLMR_SLICE("a\xFF"), &id, NULL, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(id, clean);
    CU_ASSERT_EQUAL(rlmr_symtab_count(tab), 2);
    rlmr_symtab_close(tab);
}

static void test_a_replacement_that_was_seen_is_not_forgotten(void) {
    rlmr_symtab *tab = open_table();
    uint32_t id;
    bool replaced = true;
    CU_ASSERT_EQUAL(rlmr_symtab_intern_utf8(tab, RLMR_SLICE("good"), &id, &replaced, NULL), RLMR_OK);
    CU_ASSERT_TRUE(replaced);
    rlmr_symtab_close(tab);
}

CU_TestInfo rlmr_tests_symtab[] = {
    {"a new table holds the empty text, id 0", test_a_new_table_holds_the_empty_text},
    {"equal bytes get equal ids", test_equal_bytes_get_equal_ids},
    {"finding adds nothing", test_finding_adds_nothing},
    {"ids are dense and stable while the table grows", test_ids_are_dense_and_stable_while_the_table_grows},
    {"long and short texts stay where they are", test_long_and_short_texts_stay_where_they_are},
    {"broken UTF-8 is replaced as Unicode recommends", test_broken_utf8_is_replaced_as_unicode_recommends},
    {"a character cut by the end is one replacement", test_a_character_cut_by_the_end_is_one_replacement},
    {"bytes that are never UTF-8 are replaced one by one",
     test_bytes_that_are_never_utf8_are_replaced_one_by_one},
    {"a NUL byte is replaced", test_a_nul_byte_is_replaced},
    {"the ends of every range are valid", test_the_ends_of_every_range_are_valid},
    {"every character of Unicode is kept", test_every_character_of_unicode_is_kept},
    {"every surrogate is three replacements", test_every_surrogate_is_three_replacements},
    {"a replaced text has the id of the clean one", test_a_replaced_text_has_the_id_of_the_clean_one},
    {"a replacement that was seen is not forgotten", test_a_replacement_that_was_seen_is_not_forgotten},
    CU_TEST_INFO_NULL,
};
