"""Families of numbers, and the text in which Prometheus reads them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]
Sample = tuple[str, Labels, float]  # what is added to the name, the labels, the value
Family = tuple[str, str, str, Iterable[Sample]]  # name, kind, help, samples
More = Callable[[], Iterable[Family]]


def text_of(families: Iterable[Family]) -> str:
    """All of it, as Prometheus reads it."""
    return "".join(_written(family) for family in sorted(families, key=lambda one: one[0]))


def histogram(
    series: Mapping[Labels, tuple[Sequence[int], float]], buckets: Sequence[float]
) -> Iterator[Sample]:
    """The samples of a histogram, from how often each bucket was hit and the sum of all."""
    for labels, (slots, total) in series.items():
        so_far = 0
        for bound, count in zip((*buckets, None), slots, strict=True):
            so_far += count
            shown = "+Inf" if bound is None else f"{bound:g}"
            yield "_bucket", (*labels, ("le", shown)), so_far
        yield "_sum", labels, total
        yield "_count", labels, so_far


def _written(family: Family) -> str:
    name, kind, told, samples = family
    lines = [f"# HELP {name} {told}", f"# TYPE {name} {kind}"]
    for added, labels, value in samples:
        shown = ",".join(f'{key}="{_quoted(text)}"' for key, text in labels)
        braces = f"{{{shown}}}" if shown else ""
        lines.append(f"{name}{added}{braces} {value:.17g}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
