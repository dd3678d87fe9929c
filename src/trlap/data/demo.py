"""The embedded demo corpus: 4,800 short English reviews and news items from a seeded grammar.

Everything is in this file: templates with typed slots, the words that fill them, and the few lines
that put them together. The first four topics are reviews, the last four are news; every sentence
has a topic and a sentiment. The people are invented, and no brand occurs.

How to read the grammar
- A template is one line. ``{dish}`` is filled from the list ``dish``, whose fillers are separated
  by commas, the common ones first. A filler may have slots of its own.
- A list that is a pair holds the negative and the positive fillers; the sentiment of the sentence
  decides. ``{not dish}`` takes the other side, for negations.
- Templates under ``either`` serve both sentiments, through at least one pair.
- Write "a" everywhere; it becomes "an" where it must.
"""

import random
import re
from functools import cache
from typing import NamedTuple

SENTIMENTS = ("negative", "positive")
SPLITS = {"train": 250, "validation": 25, "test": 25}  # sentences for each topic and sentiment
SEED = 2024

Words = dict[str, str | tuple[str, str]]


class Topic(NamedTuple):
    either: str
    negative: str
    positive: str
    words: Words


SHARED: Words = {
    "first": """Maria, Jonas, Anna, Mateo, Elena, Omar, Clara, Hugo, Nadia, Elias, Nina, Victor,
        Julia, Tomas, Ruth, Karim, Alice, Simon, Lena, Noah, Ingrid, Felix, Marta, Fatima, Grace,
        Luca""",
    "last": """Berg, Lopez, Novak, Patel, Tanaka, Weber, Larsen, Marsh, Olsen, Reyes, Vogel, Sharma,
        Doyle, Frost, Keller, Rahman, Brandt, Holm, Sato, Thorne, Vega, Ito""",
    "person": "{first} {last}",
    "city": """Oslo, Lima, Cairo, Dublin, Lisbon, Vienna, Prague, Boston, Toronto, Nairobi, Athens,
        Madrid, Seoul, Geneva, Helsinki, Chicago, Sydney, Glasgow, Kyoto, Naples, Denver, Warsaw,
        Lagos, Mumbai, Bogota, Seville, Porto, Hamburg, Krakow, Jakarta, Bristol, Montreal""",
    "country": """Norway, Peru, Kenya, Portugal, Japan, Canada, Chile, Ireland, Ghana, Poland,
        Greece, Brazil, India, Finland, Austria, Morocco, Spain, Vietnam, Mexico, Iceland""",
    "day": "Sunday, Saturday, Friday, Monday, Thursday, Tuesday, Wednesday",
    "month": """March, June, October, January, September, April, July, November, February, August,
        December""",
    "some": "two, three, four, five, six, seven, eight, ten, nine",
    "many": "200, 40, 120, 300, 60, 500, 80, 1,500, 2,000, 90",
    "evening": "7:30 pm, 8:00 pm, 6:30 pm, 9:15 pm, 8:45 pm, 7:00 pm, 10:30 pm, 6:15 pm",
    "morning": "9:30 am, 11:30 am, 8:15 am, 10:00 am, 7:45 am, 6:30 am, 9:00 am, 10:45 am",
    "percent": """4%, 12%, 7%, 3.5%, 8%, 15%, 2%, 20%, 6%, 9%, 5 percent, 10 percent, 30 percent,
        1.8%, 11%, 25 percent""",
    "minutes": "40, 30, 45, 20, 50, 90, 35, 25",
    "street": """Mill Street, Bridge Street, Harbour Road, Station Road, Church Street, King Street,
        Market Square, River Road, Garden Avenue, Castle Hill""",
    "manner": (
        "rude, unfriendly, careless, grumpy, impatient, dismissive, arrogant, impolite, hostile",
        """friendly, kind, attentive, polite, cheerful, helpful, charming, courteous, gracious,
        welcoming""",
    ),
}

DINING = Topic(
    either="""
        The {dish} was {flavour}.
        The {plate}, and the {server} was {manner}.
        We paid {price} for the {dish} and it was {flavour}.
        I had a {flavour} {meal} at the {cuisine} {place} on {street}.
        The {server} was {manner} and our {dish} came {speed}.
        The {plate} and the {plate}.
    """,
    negative="""
        We waited {minutes} minutes for our {drink} and nobody said sorry.
        The {server} brought our {broth} at {evening} and it was {broth_taste}.
        Don't order the {dish} here; it's {flavour} and overpriced.
        My {dish} wasn't {not flavour} at all.
    """,
    positive="""
        I'd happily drive to {city} again for that {dish}.
        The {server} brought us free {treat} at {evening}.
        The {dish} costs only {price} here, and it's {flavour}!
        We've never had a {not flavour} {meal} here.
    """,
    words={
        "plate": """{meat} was {meat_taste}, {broth} was {broth_taste}, {bread} was {bread_taste},
            {drink} was {drink_taste}""",
        "meat": """chicken, steak, salmon, lamb, duck, beef, pork, tuna, turkey, trout, cod,
            lobster, veal""",
        "meat_taste": (
            "dry, tough, overcooked, chewy, greasy, burnt, fatty",
            "tender, juicy, succulent, perfectly grilled, smoky, moist, well seasoned",
        ),
        "broth": "soup, curry, stew, broth, gravy, chowder, goulash",
        "broth_taste": (
            "watery, cold, lukewarm, salty, thin, lumpy",
            "rich, creamy, hearty, silky, aromatic, comforting",
        ),
        "bread": "bread, pie, toast, pastry, tart, waffle, muffin, bagel",
        "bread_taste": (
            "stale, soggy, rock hard, mushy",
            "fresh, warm, buttery, golden, crunchy",
        ),
        "dish": """pasta, pizza, burger, salad, {meat}, risotto, omelette, {dessert}, paella,
            lasagne, sandwich, sushi, {broth}, falafel, casserole, quiche""",
        "dessert": "ice cream, cheesecake, pudding, brownie, sorbet, mousse, custard",
        "drink": "coffee, wine, tea, beer, lemonade, juice, espresso, cider, champagne",
        "drink_taste": (
            "weak, bitter, sour, flat, cloudy, tepid",
            "lovely, smooth, refreshing, fruity, excellent, nicely chilled",
        ),
        "flavour": (
            """bland, awful, disappointing, poor, terrible, mediocre, horrible, dreadful, inedible,
            unpleasant, forgettable, disgusting""",
            """delicious, tasty, superb, wonderful, excellent, perfect, fantastic, delightful,
            heavenly, outstanding, exquisite, marvellous""",
        ),
        "meal": "dinner, lunch, breakfast, brunch, supper",
        "server": "waiter, waitress, owner, manager, chef, bartender, hostess, cook",
        "place": "restaurant, cafe, bistro, diner, place, buffet, tavern",
        "cuisine": """Italian, Thai, Greek, Indian, Mexican, Korean, Turkish, French, Spanish,
            Lebanese, Japanese""",
        "speed": (
            "late, without cutlery, on a dirty plate, an hour late, with the wrong sauce",
            "quickly, promptly, right away, on time, with a smile, with free olives",
        ),
        "treat": "olives, cookies, chocolates, almonds, dumplings, strawberries",
        "price": "$18.50, $7.50, $12, $9.75, $24, $15.50, $6.25, $32, $11.95, $28",
    },
)

TRAVEL = Topic(
    either="""
        Our {room} at the {lodging} in {city} was {room_state}.
        The {amenity}, and the {host} was {manner}.
        We booked a {tour} in {city} and it was {outing}.
        The {morning} {transport} to {city} was {ride}.
        {first} found the {room} {room_state} and the {facility} {facility_state}.
        At {rate} a night, the {lodging} felt {value}.
        We spent {some} nights in a {room_state} {lodging} near the {landmark}.
    """,
    negative="""
        We arrived at {evening} and our {room} wasn't ready.
        The {room} smelled of {smell} and the {appliance} didn't work.
        They charged us {fee} extra for {extra}!
    """,
    positive="""
        We'd gladly return to this {lodging} near the {landmark}.
        It's a {room_state} {lodging} with {view} views of the {scenery}.
        There's a {outing} {tour} every {day}.
    """,
    words={
        "lodging": "hotel, hostel, guesthouse, inn, resort, motel, lodge, villa, cottage, chalet",
        "room": "room, suite, bedroom, family room, double room, studio",
        "room_state": (
            "dirty, noisy, cramped, damp, stuffy, dusty, shabby, gloomy, dingy, smelly, filthy",
            """clean, quiet, cosy, spotless, spacious, bright, comfortable, peaceful, stylish,
            elegant, tidy""",
        ),
        "amenity": """bed was {bed}, shower {shower}, pool was {pool}, view was {view},
            internet {internet}""",
        "bed": (
            "hard, lumpy, uncomfortable, creaky",
            "soft, comfy, comfortable, huge",
        ),
        "shower": (
            "leaked, ran cold, dripped all night, barely worked",
            "was hot, worked perfectly, was powerful, was brand new",
        ),
        "pool": (
            "freezing, closed, murky, overcrowded, slimy",
            "warm, sparkling, lovely, heated, inviting",
        ),
        "view": (
            "depressing, ugly, dull, dismal, bleak",
            "stunning, gorgeous, breathtaking, spectacular, magnificent, glorious",
        ),
        "internet": (
            "kept failing, was painfully slow, never worked",
            "was fast, worked flawlessly, was excellent",
        ),
        "facility": "breakfast, gym, spa, parking, garden, sauna, lounge, playground",
        "facility_state": (
            "poor, disappointing, dreadful, neglected, inadequate, pitiful",
            "excellent, impressive, fantastic, superb, first class, terrific",
        ),
        "host": "receptionist, manager, owner, porter, concierge, cleaner, landlady",
        "tour": """walking tour, boat trip, day trip, cooking class, wine tasting, bicycle tour, bus
            tour, museum tour, painting class, pottery workshop, dance class""",
        "outing": (
            "disappointing, chaotic, rushed, exhausting, overpriced, badly organised, miserable",
            "unforgettable, magical, fascinating, delightful, memorable, enjoyable, well organised",
        ),
        "transport": "train, bus, flight, coach, express, shuttle",
        "ride": (
            "late, delayed, overcrowded, bumpy, uncomfortable, unbearably hot",
            "punctual, smooth, comfortable, relaxing, pleasant, wonderfully fast",
        ),
        "value": (
            "overpriced, run down, like a mistake, like a prison, neglected",
            "luxurious, like home, affordable, welcoming, like paradise",
        ),
        "rate": "$140, $95, $120, $65, $210, $180, $48, $79.50",
        "fee": "$15, $8.50, $20, $12.50, $30, $5.75",
        "extra": "parking, towels, breakfast, internet, luggage, bottled water",
        "smell": "smoke, mould, paint, bleach, sewage, old cabbage, petrol",
        "appliance": "heating, lift, lamp, television, lock, radiator, fridge, toilet",
        "landmark": """beach, station, harbour, cathedral, museum, old town, airport, castle,
            market, lighthouse, opera house""",
        "scenery": "lake, mountains, sea, valley, river, vineyards, bay, forest, coastline",
    },
)

SHOPPING = Topic(
    either="""
        I bought this {gadget} for {cost} and it's {quality}.
        The {device} is {quality}: the {part} {part_verb}.
        My {relative} says the {garment} is {garment_state}.
        The {clerk} at the {shop} on {street} was {manner}.
        The {shop} in {city} sells {made} {goods}.
        {first} ordered new {goods} on {day} and they were {made}.
    """,
    negative="""
        The {gadget} broke after {some} weeks and they won't repair it.
        Don't waste {cost} on this {gadget}; it's {quality}.
        The {garment} doesn't fit, and the {material} {material_verb}.
        The {gadget} isn't {not quality} and it came without a {accessory}.
    """,
    positive="""
        I've used this {gadget} for {some} years and it's still {quality}.
        You can't go wrong with this {gadget} for {cost}.
        My {relative} loves the {garment}, and the {material} {material_verb}.
    """,
    words={
        "gadget": "{device}, {machine}",
        "device": "phone, laptop, camera, tablet, watch, drone, console",
        "part": "battery, screen, software, display, charger, sensor",
        "part_verb": (
            "died in a week, fails constantly, keeps crashing, stopped working",
            "works perfectly, lasts for days, never fails, runs smoothly, responds instantly",
        ),
        "machine": """kettle, toaster, printer, blender, vacuum, speaker, heater, lamp, drill,
            keyboard, fan, mixer, radio, projector""",
        "accessory": "cable, plug, cover, manual",
        "quality": (
            """useless, flimsy, faulty, defective, unreliable, poorly made, shoddy, worthless,
            overpriced, scratched""",
            """reliable, sturdy, excellent, durable, superb, well made, impressive, brilliant,
            fabulous, flawless""",
        ),
        "made": (
            "flimsy, shoddy, poorly made, damaged, ugly, overpriced, useless, dirty",
            "sturdy, excellent, well made, lovely, beautiful, splendid, superb, affordable",
        ),
        "garment": """jacket, shirt, dress, coat, sweater, skirt, raincoat, blouse, cardigan, vest,
            swimsuit""",
        "garment_state": (
            "ugly, hideous, itchy, badly cut, unflattering, tacky",
            "beautiful, pretty, comfy, well cut, elegant, flattering",
        ),
        "material": "fabric, lining, stitching, cloth, collar",
        "material_verb": (
            "tore at once, feels cheap, came apart, looks awful, looks worn out",
            "feels soft, looks gorgeous, is flawless, feels luxurious, looks terrific",
        ),
        "relative": """sister, mother, brother, daughter, son, father, wife, husband, aunt, friend,
            uncle, neighbour, grandmother, cousin, niece, nephew""",
        "clerk": "assistant, cashier, salesman, manager, clerk, shopkeeper, technician",
        "shop": """shop, store, market, boutique, outlet, department store, supermarket, charity
            shop, gift shop""",
        "goods": """shoes, books, headphones, boots, gloves, candles, tools, mugs, curtains, pans,
            sandals, towels, blankets, pillows, chairs, sunglasses, toys, pencils""",
        "cost": "$89.99, $45, $25, $120, $19.50, $60, $250, $34.95, $75, $49.90",
    },
)

FILM = Topic(
    either="""
        The {aspect} in this {film} is {verdict}.
        {person} directed this {verdict} {film} about a {hero}.
        We saw the {film} at {evening} and the {audience} {reacts}.
        The {hero} is played by a {role} who {acts}.
        The {visuals} are {look}, and the {aspect} is {verdict}.
        {first} thought the {film} was {verdict} and gave it {stars}.
    """,
    negative="""
        I paid {ticket} for this {film} and left after {minutes} minutes.
        It's not {not verdict}, just two hours of {verdict} {scenes}.
        Skip this {film}; the story of the {hero} makes no sense.
    """,
    positive="""
        I'd pay {ticket} again to see this {verdict} {film}.
        There isn't a {not verdict} minute in this {film}.
        Everybody in the cinema clapped when the {hero} {triumph}.
    """,
    words={
        "film": """film, comedy, thriller, drama, musical, sequel, western, romance, mystery,
            remake, fantasy, satire, love story, horror film""",
        "aspect": "plot, script, story, dialogue, humour, acting, pacing, direction, ending",
        "verdict": (
            """boring, dull, predictable, tedious, clumsy, silly, shallow, confusing, lifeless,
            pointless, tiresome, laughable, dreary, uninspired""",
            """gripping, brilliant, clever, charming, moving, witty, captivating, touching,
            powerful, original, enchanting, inventive, hilarious, compelling""",
        ),
        "visuals": "costumes, effects, songs, sets, dances, stunts, songs and dances",
        "look": (
            "ugly, cheap, drab, garish, dated",
            "beautiful, dazzling, stunning, gorgeous, lavish, sumptuous, splendid",
        ),
        "scenes": "scenes, songs, chases, speeches, fights, flashbacks",
        "role": "actor, actress, newcomer, comedian, singer, youngster, veteran",
        "acts": (
            """looks bored, mumbles every line, seems lost, never convinces, shouts too much, lacks
            any charm""",
            "shines, steals every scene, is magnificent, sparkles, is a joy, deserves an award",
        ),
        "hero": """detective, teacher, pilot, soldier, widow, painter, pirate, queen, spy,
            doctor, farmer, dancer, robot, wizard, orphan, journalist, lawyer, astronaut, clown,
            violinist""",
        "audience": "audience, children, crowd, critics, students, teenagers",
        "reacts": (
            "yawned, walked out, groaned, fell asleep, complained, hated it",
            "cheered, laughed out loud, loved it, applauded, adored it, clapped",
        ),
        "stars": (
            "one star, zero stars, two out of ten, a thumbs down",
            "five stars, full marks, nine out of ten, a thumbs up",
        ),
        "triumph": "won, escaped, came home, danced, found love, saved the village",
        "ticket": "$12, $9.50, $14, $11.25, $16, $8.75",
    },
)

WORLD = Topic(
    either="""
        Talks between {country} and {country} {talks} on {day}.
        The {leader} of {country} {judged} the {measure} on {day}.
        Voters in {country} {judged} a new law on {issue}.
        {person}, the {office} of {city}, said the {measure} was {verdict}.
        Ties between {country} and {country} have {ties} since {month}.
    """,
    negative="""
        A {disaster} {damaged} {many} {buildings} near {city} on {day}.
        A {shortage} shortage has left {many} {people} desperate.
        Protests in {city} turned violent over the {measure}.
        Rescuers couldn't reach {some} {people} trapped by the {disaster}.
    """,
    positive="""
        Rescuers saved {some} {people} after a {disaster} near {city}.
        {country} and {country} signed a historic {pact} in {city}.
        Volunteers in {city} rebuilt {many} {buildings} after the {disaster}.
        The missing {people} were found safe at {morning}.
    """,
    words={
        "talks": (
            "collapsed, broke down, stalled, failed, ended in anger, were abandoned",
            "succeeded, ended in a deal, made good progress, brought peace, went well",
        ),
        "leader": """government, parliament, prime minister, foreign minister, senate, finance
            minister""",
        "office": "mayor, governor, police chief, bishop, treasurer",
        "judged": (
            "rejected, condemned, criticised, opposed, denounced, blocked",
            "welcomed, praised, approved, supported, applauded, endorsed",
        ),
        "measure": "plan, law, agreement, reform, budget, treaty, proposal, decision, tax, ruling",
        "issue": """housing, health care, pensions, clean water, schools, fishing rights, energy,
            public transport, farm prices, trade, child care""",
        "verdict": (
            "unfair, reckless, dangerous, a failure, shameful, harmful, a disgrace, cruel",
            "fair, sensible, wise, a success, courageous, a triumph, welcome, humane",
        ),
        "ties": (
            "worsened, cooled, deteriorated, suffered",
            "improved, warmed, strengthened, blossomed",
        ),
        "disaster": "storm, flood, earthquake, wildfire, landslide, hurricane, tornado, fire",
        "damaged": "destroyed, damaged, wrecked, ruined, devastated",
        "buildings": "homes, houses, schools, farms, shops, bridges, churches, clinics, boats",
        "people": """families, children, villagers, farmers, hikers, fishermen, sailors, miners,
            tourists, climbers, students, nurses""",
        "shortage": "water, food, fuel, medicine, housing, electricity, grain",
        "pact": "peace treaty, ceasefire, trade deal, peace accord, climate pact, truce",
    },
)

SPORT = Topic(
    either="""
        {person} {result} the {race} in {city} on {day}.
        {city} {beat} {city} by {some} {points} in the {round}.
        The {athlete} played {skill} and the {crowd} {reacts}.
        Coach {last} called the {unit} {form} after the {game}.
        {country} {fared} in the {discipline} final on {day}.
        {person}, the {country} {athlete}, made a {form} start.
    """,
    negative="""
        A {joint} injury has ended {person}'s season.
        The {game} was called off at {evening} because of {weather}.
        {city} sacked coach {last} after {some} straight defeats.
        {person} wasn't {not form} and lost in the {round}.
    """,
    positive="""
        {person} scored {some} {points} as {city} won the {round}.
        {racer} {person} set a world record in {city}.
        The {racer} recovered from a {joint} injury and took gold.
        {person} wasn't {not form} at all and shone in the {round}.
    """,
    words={
        "result": (
            "lost, dropped out of, finished last in, fell in, collapsed during, stumbled in",
            "won, dominated, triumphed in, took gold in, shone in, broke the record in",
        ),
        "race": "marathon, sprint, race, slalom, time trial, relay, hurdles",
        "beat": (
            "lost to, fell to, went down to, surrendered to",
            "beat, defeated, crushed, overcame",
        ),
        "points": "points, goals",
        "round": "final, cup, league, first round, derby, opening game, quarter final, playoff",
        "athlete": "striker, captain, goalkeeper, midfielder, defender, winger, rookie, substitute",
        "racer": "runner, swimmer, cyclist, sprinter, rower, skater",
        "skill": (
            "poorly, badly, nervously, terribly, without energy, selfishly",
            "brilliantly, bravely, beautifully, with flair",
        ),
        "crowd": "crowd, fans, home fans, supporters, spectators, stadium",
        "reacts": (
            "groaned, left early, whistled, fell silent, sighed",
            "cheered, roared, sang, applauded, celebrated, danced, went wild",
        ),
        "unit": "defence, attack, team, midfield, squad, passing, teamwork",
        "form": (
            "hopeless, weak, sloppy, shaky, careless, clumsy, feeble, miserable, dismal",
            "strong, solid, sharp, brilliant, confident, fearless, flawless, tireless, superb",
        ),
        "game": "match, game, semifinal, friendly, replay",
        "fared": (
            "flopped, struggled, came last, stumbled, disappointed",
            "triumphed, won gold, excelled, starred, impressed",
        ),
        "discipline": """tennis, hockey, rowing, swimming, cycling, basketball, volleyball, rugby,
            boxing, handball, gymnastics, fencing, judo, cricket, badminton, archery, skating""",
        "joint": "knee, ankle, shoulder, back, wrist, hip, elbow, thigh, neck",
        "weather": "rain, fog, snow, a storm, lightning, a frozen pitch, heavy wind",
    },
)

BUSINESS = Topic(
    either="""
        Shares in the {firm} {moved} {percent} on {day}.
        The {firm} reported {outcome} of {sum} in {month}.
        Sales of {wares} in {country} {moved} {percent} this {quarter}.
        Investors {received} the {firm}'s {plan} on {day}.
        The {sector} industry in {country} is {state}.
        {person}, who runs the {firm}, called the {quarter} {mood}.
    """,
    negative="""
        The {firm} will close {some} {sites} and cut {many} jobs.
        {staff} at the {firm} went on strike over {grievance}.
        The {firm} was fined {sum} for {offence}.
        Higher {burden} hurt the {firm}, and profits {moved} {percent}.
    """,
    positive="""
        The {firm} will open {some} {sites} and hire {many} {staff}.
        {staff} at the {firm} will get a {percent} pay rise.
        A company in {city} landed a {sum} contract to supply {wares}.
        Lower {burden} helped the {firm}, and profits {moved} {percent}.
    """,
    words={
        "firm": """airline, bank, brewery, retailer, car maker, bakery chain, publisher, builder,
            steel mill, shipping firm, toy maker, software company, hotel group, mining company,
            dairy, railway, clothing chain, shipyard""",
        "moved": (
            "fell, dropped, slid, tumbled, plunged, sank, slumped, dipped, declined",
            "rose, jumped, climbed, soared, surged, rallied, grew, advanced, gained, increased",
        ),
        "outcome": (
            "a loss, losses, record losses, heavy losses, a deficit",
            "a profit, profits, strong earnings, record profits, healthy profits, a surplus",
        ),
        "sum": """$4 million, $12 million, $2.5 million, $30 million, $1.2 billion, $8 million, $60
            million, $3 billion""",
        "wares": """cars, phones, bicycles, computers, tractors, trucks, engines, batteries, boats,
            cameras, solar panels, tyres, sofas, medicines, toys, windows, pianos, carpets""",
        "quarter": "year, quarter, month, summer, winter, spring, autumn",
        "received": (
            "rejected, criticised, disliked, mocked, attacked, feared",
            "welcomed, cheered, praised, liked, applauded, admired",
        ),
        "plan": "strategy, forecast, share sale, budget, expansion, new logo, annual report",
        "sector": """tourism, steel, farming, fishing, textile, car, wine, software, timber,
            shipping, film, construction, mining, cheese""",
        "state": (
            "struggling, shrinking, weakening, declining, failing, in trouble, in crisis",
            "thriving, growing, booming, recovering, expanding, flourishing, in good health",
        ),
        "mood": (
            "painful, disastrous, disappointing, gloomy, bleak, dire, grim",
            "excellent, successful, encouraging, rewarding, splendid, remarkable, promising",
        ),
        "sites": "offices, branches, sites, locations",
        "staff": "workers, drivers, engineers, employees, cleaners, managers, clerks, technicians",
        "grievance": "low pay, long hours, unpaid wages, job cuts, unsafe machines, pension cuts",
        "offence": "tax fraud, pollution, false advertising, price fixing, unsafe work",
        "burden": "taxes, fuel prices, interest rates, rents, tariffs, energy costs",
    },
)

SCIENCE = Topic(
    either="""
        {researchers} in {city} say the {treatment} for {illness} {works}.
        The number of {animals} in {country} has {trend} {percent}.
        Professor {last} called the {finding} on {subject} {opinion}.
        The {craft} {flight} near {city} on {day}.
        A {nationality} study found that {habit} the {organ}.
        {person}, a {scientist}, said the {finding} was {opinion}.
        The {habitat} near {city} {nature}, scientists reported in {month}.
    """,
    negative="""
        Pollution has killed {many} {animals} in {country}.
        {researchers} can't explain why so many {animals} are dying.
        The {treatment} caused {symptom} in {many} patients.
    """,
    positive="""
        {researchers} discovered {some} new kinds of {creatures} in {country}.
        The {treatment} cured {illness} in {many} patients.
        The {eye} took {images} of {planet} at {morning}.
    """,
    words={
        "researchers": "scientists, researchers, experts, doctors, professors",
        "scientist": "chemist, biologist, physicist, astronomer, geologist, surgeon, botanist",
        "treatment": "drug, therapy, pill, treatment, medicine, injection, remedy",
        "illness": """malaria, asthma, diabetes, migraine, flu, arthritis, cancer, eczema, epilepsy,
            insomnia, measles""",
        "works": (
            "failed, is harmful, proved useless, has serious risks, is ineffective",
            "worked, is safe, proved effective, saves lives, is a breakthrough",
        ),
        "animals": """bees, eagles, wolves, butterflies, frogs, owls, bats, beavers, bears, swans,
            lizards, falcons, foxes, turtles, moths""",
        "creatures": "butterflies, frogs, bats, lizards, beetles, spiders, snails",
        "trend": (
            "fallen, dropped, shrunk, declined, plunged",
            "risen, grown, increased, recovered, climbed",
        ),
        "finding": "study, theory, paper, book, report, lecture",
        "subject": """climate, sleep, memory, gravity, light, dinosaurs, volcanoes, genes, ageing,
            black holes, glaciers, language, bacteria, comets, lasers, fossils, coral, vitamins""",
        "opinion": (
            """flawed, worrying, misleading, weak, alarming, worthless, careless, unreliable,
            troubling, dubious""",
            """exciting, remarkable, convincing, elegant, promising, impressive, groundbreaking,
            ingenious, inspiring, astonishing""",
        ),
        "craft": "rocket, capsule, space shuttle, probe, spacecraft, weather balloon, glider",
        "flight": (
            "crashed, exploded, burned up, broke apart, caught fire",
            "landed safely, returned safely, landed perfectly, came down intact",
        ),
        "nationality": "Swedish, Dutch, Canadian, Danish, Brazilian, Scottish, Swiss, Australian",
        "habit": (
            """sugary drinks {harm}, late nights {harm}, loud noises {harm}, diesel fumes {harm},
            salty snacks {harm}, cigarettes {harm}""",
            """daily walks {harm}, green vegetables {harm}, short naps {harm}, dancing and singing
            {harm}, fresh berries {harm}, nuts {harm}""",
        ),
        "harm": (
            "damage, harm, weaken, strain, injure",
            "protect, strengthen, help, support, benefit",
        ),
        "organ": "heart, brain, nerves, body, immune system, blood vessels",
        "habitat": "forest, lake, meadow, river, marsh, wetland, woodland, wildlife park",
        "nature": (
            "is dying, is in danger, is shrinking fast, is under threat",
            "is healthy, is recovering, is full of life, has been saved",
        ),
        "symptom": "headaches, fever, nausea, a rash, dizziness, severe pain",
        "eye": "telescope, satellite, probe, spacecraft, observatory",
        "images": "superb images, stunning pictures, wonderful photographs, perfect images",
        "planet": "Mars, the moon, Saturn, Venus, Jupiter, an asteroid, Mercury, a comet",
    },
)

GRAMMAR = {
    "dining": DINING,
    "travel": TRAVEL,
    "shopping": SHOPPING,
    "film": FILM,
    "world": WORLD,
    "sport": SPORT,
    "business": BUSINESS,
    "science": SCIENCE,
}
TOPICS = tuple(GRAMMAR)

SLOT = re.compile(r"\{(not )?(\w+)\}")
AN = re.compile(r"\b(a) (?=[aio]|e(?!uro)|u(?!ni[^n]|se|su)|hour|honest|\$?(?:8|1[18]\b))", re.I)


@cache
def _fillers(text: str) -> list[str]:
    return " ".join(text.split()).split(", ")


@cache
def _templates(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def _pick(rng: random.Random, items: list[str]) -> str:
    """Item i of n with probability √((i+1)/n) - √(i/n): early ones often, the last still 1/(2n).

    Only `random()` is used, because Python keeps its sequence from version to version and makes no
    such promise for `choice` and `shuffle`.
    """
    u = rng.random()
    return items[int(len(items) * u * u)]


def _sentence(rng: random.Random, template: str, words: Words, sentiment: int) -> str:
    used: list[str] = []

    def fill(slot: re.Match[str]) -> str:
        entry = words[slot[2]]
        text = entry if isinstance(entry, str) else entry[sentiment ^ bool(slot[1])]
        used.append(_pick(rng, [item for item in _fillers(text) if item not in used]))
        return used[-1]

    text = template
    while "{" in text:
        text = SLOT.sub(fill, text)
    return AN.sub(r"\1n ", text[0].upper() + text[1:])


def _shuffle(rng: random.Random, items: list[dict[str, str | int]]) -> None:
    for i in range(len(items) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        items[i], items[j] = items[j], items[i]


def generate() -> dict[str, list[dict[str, str | int]]]:
    """The corpus, the same at every call: {split: [{"text", "sentiment", "topic"}, …]}.

    4,000 train, 400 validation and 400 test sentences, no two alike, every pair of sentiment (an
    index into SENTIMENTS) and topic (an index into TOPICS) equally often in every split.
    """
    rng = random.Random(SEED)
    seen: set[str] = set()
    corpus: dict[str, list[dict[str, str | int]]] = {split: [] for split in SPLITS}
    for topic, grammar in enumerate(GRAMMAR.values()):
        words = SHARED | grammar.words
        for sentiment, name in enumerate(SENTIMENTS):
            templates = _templates(grammar.either) + _templates(getattr(grammar, name))
            for split, size in SPLITS.items():
                while size:
                    template = templates[int(rng.random() * len(templates))]
                    text = _sentence(rng, template, words, sentiment)
                    if text not in seen:
                        seen.add(text)
                        corpus[split].append({"text": text, "sentiment": sentiment, "topic": topic})
                        size -= 1
    for rows in corpus.values():
        _shuffle(rng, rows)
    return corpus
