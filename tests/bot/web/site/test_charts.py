"""Charts: what is drawn is as long as its figure, and has it in words."""

import re
from datetime import date

from bot.web.site import charts
from ledger.queries.stats import DayShare, DayWaits
from rules.runs.forecast import Forecast, Outlook

FIRST, LAST = date(2026, 11, 1), date(2026, 11, 3)
BOX = re.compile(r"M(\S+) (\S+)h(\S+?)v(\S+?)h-\3z")


def boxes(series: charts.Series) -> list[tuple[float, float, float]]:
    """Return the left end, the top and the height of each box."""
    return [(float(left), float(top), float(height)) for left, top, _, height in BOX.findall(series.path)]


def test_days_are_stacked_by_agent_and_those_without_dollars_stay_empty() -> None:
    spent = (
        DayShare("2026-11-01", "a", 3.0),
        DayShare("2026-11-01", "<b>", 1.0),
        DayShare("2026-11-03", "a", 2.0),
        DayShare("2026-11-03", "free of charge", 0.0),
    )
    chart = charts.chart_spending((*spent, DayShare("2026-10-31", "a", 99.0)), FIRST, LAST)
    assert chart is not None
    most, least = chart.series
    assert (most.name, most.figure, least.name, least.figure) == ("a", "$5.00", "<b>", "$1.00")
    assert boxes(most) == [(0.075, 25.0, 75.0), (2.08, 50.0, 50.0)]
    assert boxes(least) == [(0.075, 0.0, 25.0)]
    assert (chart.width, chart.scale, chart.ends) == (3, "highest day: $4.00", ("01 Nov", "03 Nov"))
    assert charts.chart_spending((), FIRST, LAST) is None


def test_a_days_limit_is_drawn_unless_it_is_far_above_the_days() -> None:
    spent = [DayShare("2026-11-01", "a", 4.0)]
    near, far = (charts.chart_spending(spent, FIRST, LAST, limit) for limit in (8.0, 50.0))
    below = charts.chart_spending(spent, FIRST, LAST, 1.0)
    assert near is not None
    assert far is not None
    assert below is not None
    assert (near.level, boxes(near.series[0])) == (0.0, [(0.075, 50.0, 50.0)])
    assert (far.level, boxes(far.series[0])) == (None, [(0.075, 0.0, 100.0)])
    assert (below.level, boxes(below.series[0])) == (75.0, [(0.075, 0.0, 100.0)])
    assert far.scale == "highest day: $4.00; daily limit: $50.00"


def test_waits_are_stacked_by_day_people_below_agents() -> None:
    chart = charts.waits_by_day([DayWaits("2026-11-03", 7200.0, 0.0, 7200.0)], FIRST, LAST)
    assert chart is not None
    people, worker, agents = chart.series
    assert (boxes(people), boxes(agents)) == ([(2.08, 50.0, 50.0)], [(2.08, 0.0, 50.0)])
    assert (people.name, people.figure, worker.path, worker.figure) == ("for people", "2 h", "", "0 s")
    assert (chart.scale, chart.ends) == ("highest day: 4 h, all cards together", ("01 Nov", "03 Nov"))
    assert charts.waits_by_day((), FIRST, LAST) is None


def test_more_agents_than_colours_are_summed_as_others() -> None:
    chart = charts.chart_spending([DayShare("2026-11-01", f"a{n}", 9.0 - n) for n in range(9)], FIRST, LAST)
    assert chart is not None
    assert [it.name for it in chart.series] == ["a0", "a1", "a2", "a3", "a4", "others"]
    assert chart.series[-1].figure == "$10.00"


def test_a_limit_is_drawn_where_the_day_would_pass_it() -> None:
    chart = charts.of_limit("Shop", Forecast("", 20.0, 10.0, 50.0, Outlook.AHEAD, None, 100.0))
    assert [(it.name, it.figure) for it in chart.series] == [
        ("spent", "$20.00"),
        ("reserved", "$10.00"),
        ("expected by midnight", "$100.00"),
    ]
    assert ([boxes(it)[0][0] for it in chart.series], chart.mark) == ([0, 20, 30], 50)
    assert charts.of_limit("Shop", Forecast("", 0.0, 0.0, 0.0, Outlook.REACHED)).series[0].path == ""
