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
`
