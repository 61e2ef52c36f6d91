"""Everyday words that stand for each other: a tool is found by other words than its own."""

from collections import defaultdict
from typing import Final

from orchestrator.language.words import stem

# One group on each line. General English only: nothing of any one catalog belongs here.
_GROUPS = """
    buy purchase order shop
    sell vend
    rent hire lease
    reserve book reservation booking
    cancel revoke withdraw
    delete remove erase
    fix repair
    tell message notify inform text
    send message deliver mail
    email mail
    chat conversation message
    call phone telephone dial
    photo picture image photograph
    video clip footage
    movie film cinema
    song music track tune
    album record
    singer artist musician band
    actor actress cast star
    series show television tv
    book novel
    author writer
    article story post
    yesterday past previous history
    news headline
    plane flight fly airline airfare
    airport terminal
    hotel accommodation lodging room stay motel inn sleep overnight
    car vehicle auto automobile
    taxi cab ride car
    train rail railway
    bus coach
    trip journey travel vacation holiday
    route direction directions navigate
    distance far
    nearby near close
    restaurant dining eat dinner lunch eatery
    food meal dish cuisine
    recipe cook
    weather forecast temperature rain rainy snow snowy wind windy sunny storm umbrella climate
    air pollution smog
    price cost fee rate expensive cheap
    money cash fund
    currency exchange forex
    bank account
    invoice bill
    pay payment paid
    owe due debt unpaid outstanding overdue
    spend spent expense spending expenditure
    refund reimburse reimbursement
    stock share equity
    crypto cryptocurrency bitcoin coin
    tax vat
    loan mortgage credit
    salary wage income pay
    job employment career vacancy position
    employee staff worker
    company business firm corporation
    customer client
    meeting appointment event
    calendar agenda schedule
    reminder alarm nudge
    task todo
    note memo
    file document
    folder directory
    doctor physician medical
    medicine drug medication
    disease illness sickness
    health fitness wellness
    exercise workout gym
    diet nutrition calorie
    house home property estate apartment
    city town
    country nation
    population inhabitant people
    location place address
    map geography
    law legal lawyer attorney court
    lawsuit case court
    sport game match
    score result
    team club
    player athlete
    joke funny humor
    quote saying
    word term vocabulary
    meaning definition define dictionary
    translate translation language
    summary summarize digest
    grade mark score
    school university college course
    student pupil
    error bug issue
    website site web page url
    internet web online
    search find look query
    password credential login
    user member account
    picture paint draw art
    museum gallery exhibition
    pet animal dog cat
    plant flower garden
    child kid baby
    gift present
    clothes clothing fashion outfit
    color colour
    size dimension
    area surface
    speed velocity
    average mean
    sum total add
    multiply product
    divide quotient
    number count amount
    biggest largest maximum highest
    smallest minimum lowest
    ticket event concert
    package parcel shipment delivery
    tracking track trace
    deal discount coupon promotion
    review rating opinion
    recommend suggestion suggest recommendation
    popular trending top
    latest recent newest
    birthday birth
    star zodiac horoscope astrology
    dice gamble lottery
    say said mention write wrote written
    send sent
    buy bought
    sell sold
    fly flew flown
    eat ate eaten
    drive drove driven
    choose chose chosen
    forget forgot forgotten
    lose lost
    sleep slept
    withdraw withdrew withdrawn
    luggage baggage suitcase bag
    delay late punctual
    complain complaint review feedback
    presentation slide deck
    spreadsheet excel worksheet
    trash bin rubbish garbage
    access permission permit
    allow permit
    free available vacant
    reminder remember forget
"""

# What is also called by a wider word, and that word: who asks for a pizza asks for food, and who
# asks for food means no pizza.
_KINDS = """
    food meal dish: pizza burger hamburger sushi pasta curry sandwich salad soup noodle ramen
    food meal dish: taco burrito kebab dumpling falafel steak snack dessert brunch takeaway takeout
    restaurant: cafe bistro pizzeria trattoria steakhouse diner pub brasserie tavern
    hotel: hostel guesthouse resort bnb
    car: suv minivan sedan hatchback limousine van wheel
    weather temperature: hot cold warm chilly freezing humid cloudy foggy
    rain: drizzle downpour
    storm: hurricane typhoon blizzard thunderstorm tornado
    event appointment: interview workshop lecture seminar webinar
    event appointment: conference standup briefing
    file document: slide presentation spreadsheet contract draft memo
    amenity facility: pool wifi breakfast gym sauna spa
    luggage: rucksack backpack
    expense: receipt mileage
"""


def _synonyms() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for line in _GROUPS.strip().splitlines():
        stems = [stem(word) for word in line.split()]
        for word in stems:
            found[word] |= dict.fromkeys(other for other in stems if other != word)
    for line in _KINDS.strip().splitlines():
        wider, kinds = ([stem(word) for word in part.split()] for part in line.split(":"))
        for word in kinds:
            found[word] |= dict.fromkeys(wider)
    return {word: tuple(others) for word, others in found.items()}


_SYNONYMS: Final = _synonyms()


def synonyms_of(word: str) -> tuple[str, ...]:
    """The stems that may stand for a stem, best known first; mostly none."""
    return _SYNONYMS.get(word, ())
