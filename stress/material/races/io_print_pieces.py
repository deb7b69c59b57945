import io


class Price:
    def __str__(self):
        return "5"


def make():
    return io.StringIO()


def one_piece(out):
    out.write("|")


def two_pieces(out):
    print(Price(), Price(), sep=",", end="", file=out)


def check(out, results):
    return None if out.getvalue() in ("5,5|", "|5,5") else f"wrong: {out.getvalue()}"


THREADS = [one_piece, two_pieces]
