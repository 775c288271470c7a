/** Synonyms by line, comma-separated. General vocabulary, not derived from one catalog. */
export const EQUIVALENTS = `
image, picture, photo, photograph, pic
film, movie
video, clip, footage
song, track, music title
voice, speech, spoken
sound, audio
lyrics, words of songs
text, writing
article, story, blog post
document, file
spreadsheet, workbook, excel
slides, presentation, slide deck, powerpoint
ebook, e-book, epub
email, e-mail, mail
mailbox, inbox
disposable, temporary, throw-away, burner
phone, telephone, mobile number, phone number
sms, text message
notification, alert, push
chat, conversation, dialogue
bot, robot, agent
translate, translation, translator
summarize, summary, summarization, shorten, shorter, tldr, tl dr, digest, condense, abstract
classify, classification, categorize, label, categorise
extract, extraction, parse, parser, parsing, pull, read
detect, detection, recognize, recognition, identify, find
recognise, recognize
generate, generation, create, make, produce, generator, creator
convert, conversion, converter, transform, turn into
compare, comparison, difference, diff
merge, join, combine, concatenate
split, separate, cut
remove, removal, delete, erase, take away
enlarge, upscale, enhance, super resolution, bigger, make bigger, sharper
shrink, compress, reduce, smaller, make smaller
resize, scale, thumbnail
verify, verification, validate, validation, check, checker
monitor, monitoring, watch, track
track, tracking, trace
predict, prediction, forecast, forecasting, outlook, estimate
estimate, valuation, value, worth
recommend, recommendation, suggest, suggestion
optimize, optimise, optimization, plan
schedule, scheduler, cron
search, lookup, look up, find, finder
buy, purchase, order
sell, sale
rent, let, lease, rental, hire
book, booking, reserve, reservation
pay, payment
send, deliver
scrape, scraping, scraper, extract from web page
crawl, crawler, spider
website, web site, web page, webpage, site
screenshot, capture web page, snapshot of web page
headless browser, browser automation, puppeteer, headless chrome
sentiment, polarity, opinion, mood, emotion
sentiment analysis, opinion mining
entity, named entity
keyword, key phrase, keyphrase, tag
synonym, similar word
spelling, spell check, spellcheck, typo, misspelling
grammar, proofreading, proofread
paraphrase, rewrite, rephrase, reword
plagiarism, copied text
anonymize, anonymise, redact, redaction, anonymization, mask, de-identify
moderation, content moderation, toxicity
embedding, vector
prompt, instruction
code, source code, program
unit test, test code
execute, run
object detection, image recognition
face, facial
background removal, remove background, cutout
caption, describe image, alt text
text to speech, speech synthesis, read aloud
speech to text, transcription, transcribe, transcript, dictation
speaker labels, diarization, speaker identification
subtitle, closed caption, srt
noise removal, noise reduction, denoise
music recognition, identify song, audio fingerprint
weather, meteorology, conditions
rain, precipitation
forecast, outlook
storm, severe weather
earthquake, seismic, quake
wildfire, fire
air quality, pollution, air pollution
sunrise, sunset, sun
tide, high water
wave, swell, surf
humidity, moisture
city, town, municipality
country, nation
address, street address, postal address
coordinates, latitude longitude, lat lon, lat long
geocode, geocoding
directions, route, routing, navigation
nearby, near me, around
restaurant, food place, eatery
shop, store
petrol station, gas station, fuel station
petrol, gasoline, fuel
charging station, charger, charging point
parking, car park
postal code, zip code, postcode
map, cartography
elevation, altitude, height above sea
satellite image, aerial image, satellite imagery
public transport, transit, bus, tram
train, rail, railway
flight, air travel, airline
plane, aircraft, airplane
ship, vessel
hotel, accommodation, lodging
vacation rental, holiday flat, holiday home, apartment
apartment, flat
house, home, property, real estate
car, vehicle, automobile
car rental, hire car
trip, journey, itinerary, travel
luggage, baggage
visa, entry requirement
attraction, sight, activity
stock, share, equity
share price, stock quote, stock price, quote
price, cost, rate, fare
historical, history, past, archive
current, now, live, real-time, latest
daily, each day
balance sheet, financial statement, fundamentals
annual report, 10-k, filing
earnings call, conference call
exchange rate, currency rate, forex
currency, money
cryptocurrency, crypto, coin
token, coin
wallet, account
smart contract, contract code
blockchain, chain
gas fee, gas price, transaction fee
swap, exchange
bridge, cross-chain
scam, fraud, rug pull, honeypot
fraud, fraudulent
sanctions, watchlist
tax, duty
loan, mortgage, credit
invoice, bill
receipt, till slip
expense, spending
company, business, firm, organization, enterprise
company register, trade register, company registry, commercial register
shareholder, owner
person, people, individual
job, vacancy, position, opening
salary, compensation, wage, pay
lead, prospect, sales contact
customer, client, buyer
supplier, vendor
product, item, goods
parcel, package, shipment
shipping, delivery, freight
coupon, discount code, voucher, promo code
review, rating
tender, procurement, public contract, government contract
law, legislation, statute, act
judgment, case law, court decision, ruling
lawsuit, litigation
contract, agreement
signature, e-signature, sign
trademark, trade mark, brand name
patent, invention
license, licence
regulation, rule
privacy policy, privacy notice
medicine, drug, medication, pharmaceutical
doctor, physician
illness, disease
symptom, complaint
blood test, lab result
calorie, nutrition, nutrient
recipe, cooking, dish
workout, exercise, training
x-ray, radiology
clinical trial, medical study
paper, scientific article, research article, publication, literature
medical, medicine, clinical
handwritten, handwriting, written by hand
vocals, singing, voice
source separation, stems, vocal remover, karaoke
live, streaming
news, headlines, press
social media, social network
twitter, tweet, x posts
influencer, creator
follower, audience
hashtag, tag
mention, social listening
video sharing, youtube
electricity, power, energy
solar, photovoltaic
wind turbine, wind farm, wind power
carbon footprint, carbon emissions, emissions
power outage, blackout
fuel price, petrol price
holiday, bank holiday, public holiday
time zone, timezone
unit, measurement
chart, graph, plot
diagram, flowchart
color, colour
font, typeface
logo, brand mark
icon, symbol
qr code, qr
barcode, ean
password, passphrase
leak, breach, leaked, pwned
malware, virus, antivirus
phishing, malicious link
certificate, ssl
vulnerability, security advisory
secret, api key, credential
proxy, vpn
captcha, bot protection
port scan, open ports
domain, domain name
uptime, availability, outage
load test, stress test
test data, fake data, dummy data, sample data
mock, stub
webhook, callback
queue, message broker
storage, file hosting, bucket
database, sql
repository, repo, github
package, library, dependency
json, structured data
fix, repair, mend, correct
explain, interpretation, meaning
`
