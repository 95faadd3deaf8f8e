/** Prints the schema page of the manual from the descriptors; docs/schema.md is its output. */
#include "rlmr/limits.h"
#include "rlmr/mapper.h"

#include <stdio.h>

static const char *type_text(rlmr_type type) {
    switch (type) {
    case RLMR_TYPE_I64:
        return "int64";
    case RLMR_TYPE_I32:
        return "int32";
    case RLMR_TYPE_U8:
        return "uint8";
    case RLMR_TYPE_F64:
        return "float64";
    case RLMR_TYPE_TEXT:
        return "text";
    }
    return "";
}

static void print_table(const rlmr_schema *schema) {
    printf("\n## /%s\n\n%s.\n\nSorted by", schema->name, schema->description);
    for (size_t k = 0; k < schema->key_count; k++) {
        const rlmr_column *column = &schema->columns[schema->key[k]];
        printf("%s %s", k == 0 ? "" : ",",
               column->storage == RLMR_STORED ? column->name : column->description);
    }
    printf(".\n\n| column | type | unit | meaning |\n|---|---|---|---|\n");
    if (schema->index < 0) {
        printf("| row (index) | int64 | 1 | 0 .. n-1 |\n");
    }
    for (size_t c = 0; c < schema->columns_count; c++) {
        const rlmr_column *column = &schema->columns[c];
        if (column->storage == RLMR_STORED) {
            printf("| %s%s | %s | %s | %s |\n", column->name, (int)c == schema->index ? " (index)" : "",
                   type_text(column->type), column->unit, column->description);
        }
    }
}

static void print_limits(void) {
    printf("\n## Limits\n\n"
           "How much of a hostile file is believed; real data meets none of these.\n\n"
           "| limit | value | what is counted |\n|---|---|---|\n");
#define PRINT_LIMIT(name, value, meaning) printf("| %s | %d | %s |\n", #name, RLMR_LIMIT_##name, meaning);
    RLMR_LIMITS(PRINT_LIMIT)
}

int main(void) {
    printf("# Schema\n\n"
           "The tables of the output file, generated from the program's descriptors. Every table is an HDF5 "
           "group in AnnData's\n"
           "dataframe encoding 0.2.0: a number column is a 1-D dataset, a text column is a group of `codes` "
           "(int32) and\n"
           "`categories` (sorted, distinct). Unit and meaning stand as attributes `unit` and `description` "
           "beside each column.\n");
    for (int table = 0; table < RLMR_TABLE_COUNT; table++) {
        print_table(rlmr_table_schemas[table]);
    }
    print_limits();
    return 0;
}
