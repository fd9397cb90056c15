"""Pairs of texts that a person has judged, by which a model gets its curve.

They are of the kinds that are remembered here: notes and decisions of developers, facts about people, how-to
questions with what answers them. Any two of ``UNRELATED`` have nothing to do with each other.
"""

from __future__ import annotations

PARAPHRASES: tuple[tuple[str, str], ...] = (
    # Short notes of developers.
    ("We moved the cache from Redis to local memory.", "The cache now lives in the process instead of in Redis."),
    ("The login page crashes when the email is empty.", "Leaving the email blank makes the sign-in page fail."),
    ("Tests need Python 3.11 or newer.", "You can't run the test suite on anything older than Python 3.11."),
    ("The nightly job runs at two in the morning.", "Every night at 2 am the scheduled task starts."),
    ("Retries use exponential backoff with jitter.", "Each retry waits twice as long, plus a random bit."),
    ("The config file is read once at startup.", "Settings are loaded a single time, when the program starts."),
    ("Never log access tokens.", "Access tokens must not appear in any log."),
    ("We pin every dependency to an exact version.", "All our dependencies are locked to exact releases."),
    ("Deleting a user also removes their sessions.", "When an account is deleted, its sessions go with it."),
    ("The upload limit was raised to 50 megabytes.", "Files of up to 50 MB can be uploaded now."),
    ("Feature flags are stored in the database.", "We keep our feature toggles in a database table."),
    ("The memory leak came from unclosed file handles.", "Files that were never closed made memory grow."),
    ("Use tabs for indentation in Go code.", "Go sources are indented with tabs."),
    ("The API returns 429 when the rate limit is hit.", "Too many requests get a 429 answer from the API."),
    ("All timestamps are stored in UTC.", "Every time in the database is kept as UTC."),
    ("The search index is rebuilt every hour.", "Once an hour we create the search index again."),
    ("Slow queries are written to a separate log.", "There is an extra log file for queries that take long."),
    ("The mobile app crashed on older Android phones.", "On old Android devices our app stopped working."),
    # Decisions with their reasons.
    (
        "We chose PostgreSQL over MongoDB because our data is relational and we need transactions.",
        "The decision fell on PostgreSQL instead of MongoDB: transactions matter to us and the data has relations.",
    ),
    (
        "The team decided to drop support for Internet Explorer, since fewer than one in a hundred visitors use it.",
        "Internet Explorer is no longer supported, because less than one percent of our users still have it.",
    ),
    (
        "Authentication moves from server sessions to signed JWT tokens, so that any server can check a request.",
        "To let every server verify requests by itself, we replace session-based login by signed JSON web tokens.",
    ),
    (
        "We will split the billing code into its own service once the team has more than five people.",
        "When there are over five of us, billing becomes a separate service.",
    ),
    (
        "After the outage we agreed that no migration may lock the orders table for more than a second.",
        "A lesson from the downtime: database migrations must not block the orders table longer than one second.",
    ),
    (
        "We keep the monorepo, because shared libraries change together with the programs that use them.",
        "Everything stays in a single repository, as the common libraries and their users are changed at once.",
    ),
    (
        "Error messages must tell the user what to do next, not only what went wrong.",
        "An error text should explain the next step as well as the failure.",
    ),
    (
        "Releases happen on Tuesdays, so that there are people around for the rest of the week if something breaks.",
        "We ship on Tuesday, because then colleagues are there on the following days to fix what fails.",
    ),
    (
        "Images are resized in the browser before they are uploaded, which saves most of the traffic.",
        "To cut bandwidth, the browser scales pictures down before sending them to us.",
    ),
    (
        "We decided against GraphQL: our clients need few queries, and REST is easier to cache.",
        "GraphQL was rejected, as REST caches better and there are only a few different requests.",
    ),
    # Bugs with cause and cure.
    (
        (
            "The checkout failed at midnight because the discount was computed with the local time zone. Fixed by "
            "using UTC in the price service."
        ),
        "Orders around midnight broke, since the price service worked out discounts in local time; it uses UTC now.",
    ),
    (
        "Two workers could take the same job. The claim is now one UPDATE with SKIP LOCKED.",
        "A job was sometimes run by two workers at once; we solved it by claiming rows with SKIP LOCKED.",
    ),
    (
        "The build was slow since every step installed the packages again; a shared cache made it three times faster.",
        "By caching installed packages between steps, the build takes a third of the time it took before.",
    ),
    (
        "Users saw old prices because the CDN ignored our cache headers. We now purge it on every price change.",
        "Outdated prices were shown, as the CDN did not respect cache headers; each change of a price clears it now.",
    ),
    (
        "The connection pool ran dry because the export kept a connection while it waited for the mail server.",
        "While waiting for the mail server the export held on to a database connection, so the pool was exhausted.",
    ),
    (
        "A deadlock between orders and stock is avoided by always locking the stock rows first.",
        "We always lock stock before orders, which prevents the deadlock between these two tables.",
    ),
    (
        "Special characters in file names broke the download link; the name is now percent-encoded.",
        "Links to downloads failed when the name of the file had special characters, so we percent-encode it.",
    ),
    (
        "The test was flaky because it slept for a second instead of waiting for the server to be ready.",
        "That test failed now and then: it used a one second sleep rather than waiting until the server had started.",
    ),
    # Facts about people.
    ("Anna is allergic to peanuts.", "Anna can't eat peanuts because of an allergy."),
    ("My daughter starts school in September.", "In September my little girl will go to school for the first time."),
    ("I prefer short answers without code.", "Please keep replies brief and leave out code."),
    ("Tom moved from Berlin to Lisbon last year.", "Last year Tom left Berlin and now lives in Lisbon."),
    ("She has been vegetarian for ten years.", "For a decade she has not eaten meat."),
    ("My wife's birthday is on the third of May.", "My wife was born on May 3rd."),
    ("He plays the cello in an amateur orchestra.", "In his free time he is a cellist with an amateur orchestra."),
    ("I run five kilometres every morning.", "Each morning I go for a 5 km run."),
    ("Our dog is called Bruno.", "The name of our dog is Bruno."),
    ("I work from home on Fridays.", "On Fridays I don't go to the office but work at home."),
    ("Maria speaks Spanish, French and a little Japanese.", "Maria knows French, Spanish and some Japanese."),
    ("The user likes dark themes in every editor.", "In all editors the user wants a dark colour scheme."),
    (
        "Peter is the head of the design team and has to approve every change of the logo.",
        "Changes to the logo need the approval of Peter, who leads the designers.",
    ),
    (
        "I lost my passport in Rome and had to get a new one at the embassy.",
        "After my passport went missing in Rome, the embassy issued a replacement.",
    ),
    # Procedures.
    ("To undo the last commit, run git reset --soft HEAD~1.", "git reset --soft HEAD~1 takes back the last commit."),
    ("Restart the worker after you change its queue.", "When the queue of a worker was changed, it must be restarted."),
    ("Back up the database before each upgrade.", "Make a copy of the database prior to upgrading."),
    ("Bake the bread for forty minutes at 220 degrees.", "The loaf needs 40 minutes in the oven at 220 °C."),
    (
        "To rotate the key, create the new one, deploy it to all servers, and only then revoke the old one.",
        "Key rotation: add a new key, roll it out everywhere, and revoke the previous key at the very end.",
    ),
    (
        "If the site is down, check the status page first, then call the person on duty.",
        "In an outage look at the status page, and after that phone whoever is on call.",
    ),
    (
        "Run the linter before every commit; the hook in the repository does it for you.",
        "Each commit has to be linted first, which the repository's own hook takes care of.",
    ),
    (
        "Defrost the freezer twice a year, and pull its plug before you begin.",
        "Two times a year the freezer should be defrosted; unplug it first.",
    ),
    # Longer ones.
    (
        (
            "On Monday the mail queue was stuck for three hours. A bad address made the sender stop, and nobody saw "
            "the alarm, as it went to a mailbox that is not read any more. The alarm now goes to the chat of the team."
        ),
        (
            "The mails hung for three hours on Monday because one invalid address stopped the sender. The alert had "
            "been sent to an abandoned mailbox; from now on it is posted in the team's chat."
        ),
    ),
    (
        (
            "Julia coaches the swimming team on Wednesday evenings, so she can't take calls then. She prefers "
            "messages, and answers them on the next morning."
        ),
        (
            "Don't call Julia on Wednesday evening, when she trains the swimmers. Write to her instead; she replies "
            "the morning after."
        ),
    ),
    (
        (
            "We store money as whole cents in integers. Floating point gave wrong sums in the yearly report, and the "
            "decimal type was too slow for the imports."
        ),
        (
            "Amounts of money are integers that count cents, since floats added up wrongly in the annual report and "
            "decimals made the import slow."
        ),
    ),
    (
        (
            "The new laptop has 32 GB of memory and a German keyboard. It belongs to the company and must be given "
            "back when the contract ends."
        ),
        (
            "When my contract is over I have to return the company's new laptop, the one with 32 gigabytes of RAM and "
            "German keys."
        ),
    ),
)

QUESTIONS: tuple[tuple[str, str], ...] = (
    (
        "How do I revoke a token?",
        "To revoke a token, run `engram token revoke` with its name; it stops working at once.",
    ),
    ("How can I run only one test?", "A single test is run with `pytest path/to/file.py::test_name`."),
    ("Why did we leave Heroku?", "We left Heroku because the price tripled and there was no European region."),
    ("Where are the logs of the production servers?", "Production logs are in /var/log/app and are kept for 30 days."),
    ("What is the port of the staging database?", "The staging database listens on port 5433."),
    ("Which colour does the user want for buttons?", "The user wants all buttons in dark green."),
    ("When does the lease of the flat end?", "The lease of the flat ends on 31 March next year."),
    ("How do I clear the build cache?", "Delete the folder .cache/build to clear the build cache."),
    ("Who approves a production deployment?", "Production deployments are approved by the lead engineer on duty."),
    ("What food does the cat need?", "The cat needs dry food for sensitive stomachs, twice a day."),
)

UNRELATED: tuple[str, ...] = (
    # Work on software.
    "We chose PostgreSQL as the main database because the data is relational.",
    "The pull request template now asks for a screenshot of every visual change.",
    "Use snake_case for function names and two blank lines between them.",
    "The GPU driver on the training machine must stay at version 535.",
    "Fixed a crash in the PDF export when a table has no columns.",
    "Customers are billed on the first of the month by the payment provider.",
    "The microphone permission dialog appears twice on iOS.",
    "OAuth redirect addresses must match exactly, including the trailing slash.",
    "The robot arm loses its calibration after a power cut.",
    "Our fonts are served from our own domain for privacy.",
    "The compiler warns about unused variables only with the strict flag.",
    "Translations are delivered by an agency every second Thursday.",
    "The load balancer drops idle websockets after sixty seconds.",
    "Bluetooth pairing fails if the headset was paired with another laptop before.",
    "Spam filters reject our newsletter because the DKIM record is missing.",
    "The chess engine searches twelve moves ahead on a phone.",
    "Shader compilation makes the first frame of the game stutter.",
    "Sorting is stable, so equal rows keep their order.",
    "Licence headers are checked before each release by the legal department.",
    "The parser does not accept comments inside JSON.",
    # People.
    "Anna is allergic to peanuts and always carries an adrenaline pen.",
    "My brother plays the saxophone in a jazz band.",
    "Grandmother was born in a village near Cracow in 1931.",
    "I am afraid of heights, so please no hotel rooms above the third floor.",
    "Tom proposed to Lucy on a beach in Portugal.",
    "The neighbours have adopted two kittens from the shelter.",
    "My son wants to become a firefighter.",
    "She studied marine biology in Sydney.",
    "Our landlord speaks only Italian.",
    "He collects stamps from countries that no longer exist.",
    "I wear size 43 shoes.",
    "Aunt Clara retired last summer and paints watercolours now.",
    "The dentist moved my appointment to the tenth of October.",
    "Paul broke his ankle while skiing and walks on crutches until Easter.",
    # The house, food, travel.
    "The bread needs forty minutes in the oven.",
    "The spare key is under the flower pot on the balcony.",
    "Water the orchids once a week and keep them out of the sun.",
    "The train to Vienna leaves from platform nine.",
    "A good risotto is stirred all the time and gets its stock in small portions.",
    "The washing machine must not be used after ten in the evening.",
    "Winter tyres are required by law from November on.",
    "The hiking trail is closed because of a landslide.",
    "We painted the kitchen light yellow, with white around the windows.",
    "The ferry to the island runs only in summer.",
    "Green tea tastes bitter if the water is boiling.",
    "The tent weighs two kilograms and sleeps three.",
    # The world and longer notes.
    "The museum of modern art is free on the first Sunday of the month.",
    "Interest rates on mortgages went up by half a percent in spring.",
    "The lecture on medieval trade routes was moved to the large hall, as more than two hundred students came.",
    "Bees find their way by the position of the sun and tell the others with a dance.",
    "The football club sold its goalkeeper to a team in Turkey.",
    "A sonnet has fourteen lines.",
    "Volcanic soil is good for growing wine, which is why the slopes of Etna are covered with vineyards.",
    "The union and the airline agreed on a pay rise of four percent, so the strike of the pilots is off.",
    "The telescope took pictures of a galaxy that is twelve billion light years away.",
    "Antibiotics do not help against viruses, and the doctor prescribed rest and plenty of fluids instead.",
    "The orchestra will open the season with Mahler's second symphony.",
    "Charging the electric car at the supermarket costs less than at the motorway.",
    "The insurance pays for water damage only if the pipes were inspected in the last five years.",
    "The sculptor works with marble from a quarry that the Romans used already.",
    "A bill on plastic bags will be debated in parliament next week.",
    "Silk was so precious that it served as money along the road to China.",
)
