/** Broad phrase first, then narrower ones; a narrower phrase finds the broad one. */
export const NARROWER = `
weather, temperature, sunny, cloudy
currency, usd, eur, gbp, jpy, dollar, euro
stock, aapl, tsla, ticker, nasdaq, nyse
coin, bitcoin, dogecoin, solana
llm, chatgpt, gpt, claude, gemini, chat completion
language, english, german, french, spanish, japanese, chinese
marketplace, amazon, ebay
web search, google, bing
vacation rental, airbnb
slack, discord, teams
image generation, dalle, midjourney, stable diffusion, text to image
text to video, sora
speech to text, whisper, meeting recording
messaging, whatsapp, telegram
restaurant, pizza, cafe
malware, ransomware, trojan
logo, illustration
picture, logo
company data, firmographics
translate, say, how do you say
whois, who owns, domain owner, registrant, owned by, belongs to
accessibility, blind, visually impaired, screen reader, wheelchair
distance, how far
duration, how long
price, how much, how expensive, worth
elevation, how high, how tall
temperature, how hot, how cold, how warm
population, how many people, inhabitants
age, how old
time zone, what time, time difference
opening hours, open now, when open
uptime, is it down, is down, offline
malware, safe to visit, safe to click, is it safe
fact check, is it true, is this true, fake news
readability, easy to read, hard to read
sunrise, daylight, dawn
sunset, dusk
translate, understand foreign
summarize, too long, in short, key points, gist
enlarge, larger image, higher resolution, low resolution
compress, too big, too large, file size
brightness, brighter, darker
volume, louder, quieter
speech to text, write down what is said, audio to text
text to speech, read out, read to me
contact, get in touch with, reach
verify, is real, does it exist, genuine
credit, afford, lend
strength, strong, how strong, how secure, secure enough
matching, go with, goes well with, fit together
rhyme, rhymes with
random, pick one, choose at random
domain availability, still free, free to register, not taken, already taken
expiry, run out, runs out, valid until
reputation, trustworthy, legit, legitimate, is a scam, can i trust, honest
risk, dangerous, risky
gender, male or female, female or male, man or woman, boy or girl
flip, toss
dice, roll
hash, scramble, irreversible, fingerprint
encrypt, scramble, unreadable, keep secret
anonymize, hide names, black out
pii, hide personal data
csv, spreadsheet, excel export
user agent, which browser, what browser
tone, less formal, more formal, friendlier, more polite, sound
rewrite, less formal, more formal, friendlier, more polite, make formal
simplify, make simple, make simpler, make easier, plain words
set, remember, memorize, keep for later, save for later
get, recall
store, remember, keep for later, save for later
calculate, work out, figure out, add up
detect, figure out, tell whether, guess whether
estimate, guess
palette, go with, matching colors, color scheme, brand colors
delayed, later, put off, put aside
available slots, free time, when free
valid email, receive mail, receive email, can receive
screenshot, looks like, picture of a page
extract text, without ads, main text, only the text
diff, what changed, changes between
keyword, most important words, main words
named entity, names of people, people mentioned, names of companies
sentiment, positive or negative, like or dislike, how people feel
shorten url, shorten link, short link, make short link, long link short, long url short
redirect, where link goes, ends up
expand, make longer
duplicate, same record, twice
page speed, how fast, loads slowly, loading time
seo, found on google, rank on google
vulnerability, hacked, weak spots, unsafe
directions, get from, way from
exchange rate, how many dollars, how many euros, dollars for, euros for
news, what happened, what is going on
weather, umbrella, will it rain, jacket
holiday, day off, days off, offices closed, banks closed
definition, what does mean, meaning of word
synonym, another word for, other word for
recipe, what can i cook
nutrition, how healthy
dns, name servers
ip geolocation, where is ip, location of ip, ip from
password strength, easy to guess, hard to guess, easy to crack, hard to crack
uuid, unique name
webhook, tell me when, let me know when, notify me when
ocr, text in an image, text from a picture, read a scan
moderation, offensive, insulting, swear words, profanity
grammar, mistakes, errors in text
balance, how much is in, how much money in
holdings, what do i own
yield, earn interest, earn on, passive income
literature, papers about, studies on
transcribe, into writing, recording into text
reply, answer to, respond to
title, catchy
security headers, headers protect
`
