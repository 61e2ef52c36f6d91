"""The words that parameters are named with, in any API, and the words people mean them by."""

from typing import Final


def words_of(text: str) -> frozenset[str]:
    """A set of words, written as one text."""
    return frozenset(text.split())


ORIGIN: Final = words_of("origin from source departure departing leaving")
DESTINATION: Final = words_of("destination to arrival arriving dest target")
PLACE: Final = words_of(
    "city town place location where area region country venue airport station address near nearby "
    "village destination origin locality municipality"
)
PLACE_TOLD: Final = words_of(
    "city town place location airport station country region village where"
)
"""Words of a description that tell that a name is the name of a place."""

START: Final = words_of(
    "start starts starting from begin begins beginning since depart departs departure departing "
    "outbound checkin pickup arrive arrival first after"
)
END: Final = words_of(
    "end ends ending to until till return returning returns back inbound checkout dropoff finish "
    "through by due last before expiry"
)
START_PAIRS: Final = (("check", "in"), ("pick", "up"), ("move", "in"))
END_PAIRS: Final = (("check", "out"), ("drop", "off"), ("move", "out"))

END_SAID: Final = words_of(
    "returning return returns back until till to through thru by ending end ends checkout"
)
"""Words before a date that make it the later end of a stretch of time."""

DATE: Final = words_of("date day on when dates")
TIME: Final = words_of("time hour clock at")
TIME_ZONE: Final = words_of("timezone tz")

MONEY: Final = words_of(
    "price amount budget cost total fare fee sum spend spending value charge limit rate payment"
)
MAXIMUM: Final = words_of("max maximum upper most below under limit budget ceiling cap highest")
MINIMUM: Final = words_of("min minimum lower least above over floor lowest")
MOST_SAID: Final = words_of(
    "under below max maximum most within up than upto budget less cheaper limit cap not to"
)
"""Words before an amount that make it the most that may be paid."""
LEAST_SAID: Final = words_of("over above min minimum least more exceeding from starting")
MINOR_UNITS: Final = words_of("cents minor pence")

PEOPLE: Final = words_of(
    "guest guests passenger passengers person persons people adult adults traveler travelers "
    "traveller travellers party pax seat seats attendee attendees participant participants cover "
    "covers visitor visitors diner diners head heads ticket tickets"
)
COUNTED: Final = PEOPLE | words_of(
    "quantity count number qty copies units pieces items rooms nights days hours minutes size stars"
)
NOT_COUNTED: Final = words_of("percent index bytes version id latitude longitude lat lon lng year")
NIGHTS: Final = words_of("night nights day days")
WEEKS: Final = words_of("week weeks")
PAGING: Final = words_of("page limit offset cursor per skip top results sort order fields")

EMAIL: Final = words_of("email emails mail e-mail")
CURRENCY: Final = words_of("currency currencies")
IDENTIFIER: Final = words_of("id ids uuid guid ref reference code key token number no handle slug")
QUERY: Final = words_of(
    "query q keyword keywords search term terms phrase text_query topic searchterm about"
)
TEXT: Final = words_of(
    "text message body content description note notes purpose reason comment comments remark "
    "remarks details memo justification greeting instructions request"
)
TITLE: Final = words_of("title subject name label summary headline heading caption")

REFERENCES: Final = words_of(
    "cost costs receipt receipts total booking bookings details confirmation itinerary reservation "
    "reservations result results outcome summary"
)
"""Nouns that, after "the" and with nothing more said of them, point at what came before."""

AMBIGUOUS_CHOICES: Final = words_of(
    "first last latest oldest newest name other none all any date default normal no yes on "
    "off home to by high low open"
)
"""Enum values that are everyday words: one is meant only beside a word of its parameter."""

CATCH_ALL: Final = ("other", "others", "misc", "miscellaneous", "general", "unspecified")
"""Enum values that fit whatever fits no other."""

CHEAPEST: Final = words_of("cheapest cheap lowest inexpensive affordable")
NEWEST: Final = words_of("latest newest recent")
OLDEST: Final = words_of("earliest oldest soonest")
BEST_RATED: Final = words_of("best rated top highest")
PREFERENCES: Final = CHEAPEST | NEWEST | OLDEST | BEST_RATED | words_of("first most one ones")

RATING: Final = words_of("rating score stars")
GONE: Final = words_of(
    "cancelled canceled expired unavailable closed deleted sold_out inactive void"
)
"""Status values of things that can no longer be used."""
BOOKKEEPING: Final = words_of(
    "status created updated modified observed expires cancelled sent at url"
)
"""Words of fields that say nothing to a reader about what was done."""

PARTICIPLES: Final = {
    "book": "booked", "send": "sent", "pay": "paid", "make": "made", "buy": "bought",
    "rent": "rented", "put": "put", "set": "set", "write": "written", "take": "taken",
    "cancel": "cancelled", "withdraw": "withdrawn", "tell": "told", "hold": "held", "give": "given",
    "get": "fetched", "find": "found", "submit": "submitted", "plan": "planned",
}  # fmt: skip
"""Verbs that do not form "done" by adding -d or -ed."""
