"""How many refusals brute force finds harmless, primitive by primitive: writes docs/schedule-refusals.md.

python tests/schedules/refusals.py [number of programs]
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from judge import ACCEPTED, HARMLESS, NEEDED, UNJUDGED, judge
from nestor.dialects.verifier import verify
from primitives import PRIMITIVES
from programs import draw_program
from sequences import draw_schedule

LIMITS = (
    "constant number of threads",
    "how many blocks there are",
    "has constant extents",
    "straight-line code",
    "run equally often",
    "an operation in it can stop the kernel",
    "an error must be that of",
    "an error in the loop would lose",
    "no reduction in its body",
    "it carries no reduction",
    "it has no iterations",
    "nothing is the same in all iterations",
    "its elements would be computed",
    "would run in several iterations of the loop",
    "another loop is called that",
    "none is unmasked and contiguous along it",
    "this is not an annotation",
    "it does not start at a constant",
    "it is not parallel",
    "copies of its body are more than",
    "it is not only loaded and stored",
)
"""Reasons that tell of no order and no value: a device's limits, errors, work done again, nothing to be done, names."""

REPORT = Path(__file__).resolve().parents[2] / "docs" / "schedule-refusals.md"
PROGRAMS = 1500


@dataclass
class Count:
    """Verdicts on requests for one primitive; `wrong` tells of those that were accepted and are not right."""

    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def needed(self) -> int:
        return self.verdicts[NEEDED]

    @property
    def harmless(self) -> int:
        return self.verdicts[HARMLESS]

    @property
    def rate(self) -> float:
        judged = sum(self.verdicts[kind] for kind in (ACCEPTED, NEEDED, HARMLESS))
        return self.harmless / judged if judged else 0.0


def draw_judged(seeds: Iterable[int], of_each: int = 1) -> dict[str, Count]:
    """Judge requests for every primitive, after up to three legal steps on a random program a seed."""
    counts = {name: Count() for name in PRIMITIVES}
    for seed in seeds:
        rng = random.Random(seed)
        program = draw_program(rng)
        schedule = draw_schedule(rng, program, longest=rng.randint(0, 3), marks=False)
        verify(schedule.module)
        for name, primitive in PRIMITIVES.items():
            for _ in range(of_each):
                request = primitive.draw(rng, schedule.module)
                if request is None:
                    continue
                verdict = judge(schedule.module, request, program, seeds=range(seed, seed + 6))
                kind = verdict.kind
                if kind == HARMLESS and any(limit in verdict.message for limit in LIMITS):
                    kind = UNJUDGED
                counts[name].verdicts[kind] += 1
                if kind == HARMLESS:
                    counts[name].reasons[_reason(verdict.message)] += 1
                if verdict.is_wrong:
                    steps = "\n".join(map(str, (*schedule.steps, request)))
                    counts[name].wrong.append(f"seed {seed}: {verdict.message}\n{program.text}\n{steps}")
    return counts


def _reason(message: str) -> str:
    """The reason in a refusal, names left out."""
    return '"..."'.join(message.partition(": ")[2].split('"')[::2])


def report(counts: dict[str, Count], programs: int) -> str:
    lines = [
        "# Refusals of schedule primitives, judged by brute force",
        "",
        "Written by `python tests/schedules/refusals.py`; see `tests/schedules/judge.py` for how a refusal is judged.",
        "",
        f"On {programs} random programs (`tests/schedules/programs.py`), after up to three legal steps, each primitive "
        "was asked for once. A refused request was then carried out without its checks, and compared with the program "
        "on six sets of arguments (marks also in four adversarial orders). *Needed*: the result differs. *Harmless*: no "
        "difference was found, nor on 36 more, half of them with longer axes, with differences in place of maxima (which "
        "hide what they are of) and order-dependent updates in place of ordered reductions; the rate is the share of "
        "these among all judged requests. "
        "*Not judged*: nothing can be carried out without the checks (a bound that no affine expression states, loops "
        "that are not nested), or the reason is a device's limit (threads of a block), an error that the program may raise, "
        "work that would be done again, a name, or that there is nothing to do. A legal request that computed something "
        "else would be an error; there is none. Unknown extents that nothing says are equal differ in half of the runs, "
        "and a mark for threads is needed where two iterations touch an element that one of them writes. The rates are "
        "upper bounds: values agree by chance as well.",
        "",
        "| primitive | accepted | refused, needed | refused, harmless | rate | not judged | commonest harmless reason |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for name, count in counts.items():
        v = count.verdicts
        rest = sum(v.values()) - v[ACCEPTED] - v[NEEDED] - v[HARMLESS]
        reason = count.reasons.most_common(1)[0][0] if count.reasons else ""
        lines.append(
            f"| {name} | {v[ACCEPTED]} | {count.needed} | {count.harmless} | {count.rate:.1%} | {rest} | {reason} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else PROGRAMS
    counts = draw_judged(range(programs))
    for count in counts.values():
        for wrong in count.wrong:
            print("WRONG", wrong)
    REPORT.write_text(report(counts, programs))
    print(f"wrote {REPORT}")


if __name__ == "__main__":
    main()
