#!/bin/bash
# docs/schema.md is what the descriptors say.   usage: schema.sh SOURCE_DIR RLMR_SCHEMA
set -euo pipefail
diff <("$2") "$1/docs/schema.md" || {
    echo "docs/schema.md is out of date: run build/dev/rlmr-schema > docs/schema.md"
    exit 1
}
