#!/usr/bin/python3
"""Run a command and write the most memory that it held at a time (resident, in 10^6 bytes) into a file."""
import argparse
import os
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", metavar="FILE")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    arguments = parser.parse_args()
    child = subprocess.Popen(arguments.command)
    _, status, usage = os.wait4(child.pid, 0)
    with open(arguments.result, "w", encoding="ascii") as stream:
        print(round(usage.ru_maxrss * 1024 / 1e6), file=stream)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
