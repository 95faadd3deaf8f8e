#!/usr/bin/python3
"""Copy a directory tree, creating the entries of every directory in a shuffled order.

On file systems that list entries as they were created, the copy is listed in another order than SRC.
Symbolic links are copied as links.
"""
import argparse
import os
import random
import shutil


def shuffle_copy(source, target, rng):
    """Copy directory `source` to `target`, which must not exist."""
    os.mkdir(target)
    names = sorted(os.listdir(source))
    rng.shuffle(names)
    for name in names:
        old, new = os.path.join(source, name), os.path.join(target, name)
        if os.path.isdir(old) and not os.path.islink(old):
            shuffle_copy(old, new, rng)
        else:
            shutil.copy2(old, new, follow_symlinks=False)


def main():
    parser = argparse.ArgumentParser(description="Copy a tree, creating entries in a shuffled order.")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--seed", type=int, required=True)
    arguments = parser.parse_args()
    shuffle_copy(arguments.source, arguments.target, random.Random(arguments.seed))


if __name__ == "__main__":
    main()
