"""Weather by city and day: temperatures that belong together and to the season."""

from __future__ import annotations

import math
from datetime import date
from random import Random
from typing import Any

from orchestrator.sandbox.playbook import Draft, Playbook

_TEXTS = {
    "clear": "Sunny all day.",
    "cloudy": "Mostly cloudy and dry.",
    "rain": "Rain on and off; take an umbrella.",
    "snow": "Snow showers.",
    "fog": "Fog in the morning, brighter later.",
    "storm": "Stormy with heavy rain.",
}


def tell_day(draft: Draft) -> None:
    """The weather of one city on one day, the same whoever asks and however often."""
    day = draft.arguments.get("date") or draft.call.now.date().isoformat()
    sky = _sky(draft.arguments["city"], day)
    draft.body |= {name: value for name, value in sky.items() if name in draft.body}


def tell_now(draft: Draft) -> None:
    """Somewhere between the lowest and the highest temperature of today."""
    sky = _sky(draft.arguments["city"], draft.call.now.date().isoformat())
    middle = round((sky["temperature_min_c"] + sky["temperature_max_c"]) / 2, 1)
    draft.body |= {"condition": sky["condition"], "temperature_c": middle}
    draft.body |= {"feels_like_c": round(middle - 1.5, 1), "wind_kmh": sky["wind_kmh"]}


def list_alerts(draft: Draft) -> None:
    """Most cities have no warning, some have one."""
    draft.items = draft.items[: draft.rng.choice((0, 0, 1))]


def tell_air(draft: Draft) -> None:
    """An index with the level that it stands for."""
    index = draft.rng.randint(12, 120)
    levels = ((50, "good"), (100, "fair"), (200, "poor"))
    level = next((name for limit, name in levels if index <= limit), "bad")
    draft.body |= {"air_quality_index": index, "air_quality_level": level}


def _sky(city: str, day: str) -> dict[str, Any]:
    rng = Random(f"{city.casefold()}:{day}")
    north = Random(city.casefold()).uniform(-4, 6)
    turn = date.fromisoformat(day).timetuple().tm_yday / 365 * 2 * math.pi
    low = round(8 - 9 * math.cos(turn) + north + rng.uniform(-3, 3), 1)
    high = round(low + rng.uniform(3, 9), 1)
    wet = "snow" if high < 2 else "rain"
    condition = rng.choice(("clear", "clear", "cloudy", "cloudy", wet, wet, "fog", "storm"))
    is_wet = condition in ("rain", "snow", "storm")
    return {
        "date": day,
        "condition": condition,
        "temperature_min_c": low,
        "temperature_max_c": high,
        "rain_chance_percent": rng.randint(60, 95) if is_wet else rng.randint(0, 25),
        "precipitation_mm": round(rng.uniform(1, 14), 1) if is_wet else 0.0,
        "wind_kmh": round(rng.uniform(4, 60 if condition == "storm" else 28), 1),
        "weather_text": _TEXTS[condition],
    }


WEATHER = Playbook(
    behaviours={
        "weather_get_forecast": tell_day,
        "weather_get_history": tell_day,
        "weather_get_current": tell_now,
        "weather_list_alerts": list_alerts,
        "weather_get_air_quality": tell_air,
    },
    words={"headline": ["Strong wind along the coast", "Heavy rain in the evening"]},
)
