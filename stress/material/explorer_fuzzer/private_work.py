"""Work on local variables: a wide program does it before and after the steps of each thread.

A search or an audit that treats each place of a program alike finds races in short programs, and misses them here.
"""

from __future__ import annotations

from typing import Final

NAME: Final = "private_work"
"""Name of the function; the oracle does not switch threads in it."""

SOURCE: Final = """
def private_work(seed):
    word = "w" + str(seed)
    text = [word.upper(), word]
    numbers = {word: len(word)}
    numbers[word] += seed
    numbers["other"] = seed * 2
    if word in numbers:
        numbers[word] -= 1
    first, rest = word[0], word[1:]
    text.extend([first, rest])
    text.append(f"{first}-{rest}")
    total = sum(numbers.values())
    pairs = [(one, len(one)) for one in text if one]
    table = dict(pairs)
    total += table.pop(word, 0)
    total += len(table)
    ordered = sorted(pairs, key=lambda pair: pair[1])
    head, *tail = ordered
    shortest, size = head
    if size > 1:
        total -= size
    elif total % 2:
        total += 1
    else:
        total *= 3
    seen = {shortest, word}
    seen.discard(first)
    seen |= {rest}
    count = 0
    def bump(by):
        nonlocal count
        count += by
        return count
    bump(total)
    bump(len(tail))
    try:
        tail[100]
    except IndexError as error:
        text.append(type(error).__name__)
    last = text[-1]
    text[0], text[1] = text[1], text[0]
    del text[2]
    middle = text[1:-1]
    joined = ",".join(middle)
    is_long = len(joined) > 3 and last != first
    chosen = joined if is_long else last
    return chosen[::-1], count, sorted(seen), len(text)
"""
