"""
__main__.py - `python -m collider`, and the command collider of the wheel: the program of the tree beside it.
"""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tree", "bin", "collider")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
