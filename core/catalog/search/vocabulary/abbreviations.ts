/** Abbreviations with long forms, comma-separated. General vocabulary of APIs, not of a catalog. */
export const ABBREVIATIONS = `
ai, artificial intelligence
ml, machine learning
llm, large language model, language model
nlp, natural language processing
nlg, natural language generation
ner, named entity recognition
qa, question answering, q a
rag, retrieval augmented generation
asr, automatic speech recognition, speech recognition
stt, speech to text
tts, text to speech, text to voice
ocr, optical character recognition, text recognition
htr, handwriting recognition
mt, machine translation
tm, translation memory
l10n, localization
i18n, internationalization
ip, internet protocol
geoip, ip geolocation
poi, point of interest
gis, geographic information system
gps, positioning
eta, arrival time
vrp, vehicle routing
aqi, air quality index, air quality
pm25, particulate matter, fine dust
uv, ultraviolet
ghg, greenhouse gas
co2, carbon dioxide
ev, electric vehicle
pv, photovoltaic
kyc, know your customer, identity verification
kyb, know your business
aml, anti money laundering
pep, politically exposed person
ubo, beneficial owner
lei, legal entity identifier
fx, forex, foreign exchange
btc, bitcoin
eth, ethereum
sol, solana
nft, non fungible token
dex, decentralized exchange
defi, decentralized finance
tvl, total value locked
apy, yield
mev, miner extractable value
ens, ethereum name service
evm, ethereum virtual machine
sms, text message, short message
mms, multimedia message
otp, one time password, one time code
2fa, two factor authentication, mfa
sso, single sign on
ivr, interactive voice response
voip, internet telephony
smtp, mail server
pdf, portable document format
csv, comma separated values
docx, word
xlsx, excel
pptx, powerpoint
html, web page
qr, qr code
ean, upc, barcode
isbn, book number
sku, product number
vin, vehicle identification number
hs, harmonized system, tariff number
vat, value added tax
gst, goods and services tax
iban, bank account number
bic, swift code
bin, issuer identification number
sec, securities and exchange commission
ipo, initial public offering
etf, exchange traded fund
ohlc, ohlcv, candles, candlestick, bars
roi, return on investment
gdp, gross domestic product
cpi, consumer price index
rfp, request for proposals
cv, resume, curriculum vitae
hr, human resources
crm, customer relationship management
b2b, business to business
seo, search engine optimization
serp, search engine results, search results
cve, vulnerability, security hole
tls, ssl
jwt, json web token
dns, domain name system
cdn, content delivery network
sbom, bill of materials
vpn, virtual private network
waf, web application firewall
pii, personal data, personally identifiable information, personal information
gdpr, data protection
nsfw, not safe for work, adult content
nda, non disclosure agreement
icd, diagnosis code
ehr, electronic health record, fhir, hl7
bmi, body mass index
dna, genome
gtfs, public transport
ais, vessel tracking
iata, airport code
db, database
kv, key value
k8s, kubernetes
js, javascript
ts, typescript
py, python
regex, regular expression
uuid, guid, unique identifier
i/o, input output
url, link, web address
img, image
vid, video
pic, picture
doc, document
docs, documentation
tx, transaction
addr, address
tz, timezone, time zone
temp, temperature
lat, latitude
lng, longitude, long
iss, international space station, space station
bal, balance
tos, terms of service
faq, frequently asked questions
cta, call to action
ad, advertisement
a11y, web accessibility
rss, atom feed
mx, mail exchange
ns, name server
mcap, market cap
pnl, profit and loss
lp, liquidity pool
cwv, core web vitals
og, open graph
csp, content security policy
ecb, european central bank
fed, federal reserve
md, markdown
yml, yaml
b64, base64
rng, random number
`
