import { singular } from '../../../singular.ts'
import { wordVectors } from '../../search/meaning/word-vectors.ts'

/** Typical words of the categories, singular. */
const TYPICAL_WORDS = {
  weather:
    'weather climate meteo meteorology météo temperature rain snow storm wind humidity ' +
    'precipitation aqi airquality pollution uv sunny cloudy hurricane tornado drought ' +
    'atmospheric environment solar tide wave maritime',
  crypto:
    'crypto cryptocurrency blockchain token defi nft wallet chain onchain swap dex solana ' +
    'ethereum bitcoin btc eth erc20 erc721 evm gas gwei staking airdrop rug mint stablecoin ' +
    'stablecoins usdc usdt ens smart contract x402 facilitator settlement mempool block ' +
    'jupiter uniswap coingecko coinpaprika dexscreener etherscan basescan nonce validator ' +
    'whale memecoin liquidity hashrate erc 8004 binance coinbase tx receipt',
  finance:
    'finance financial stock market trading equity forex fx bank banking iban invoice tax price ' +
    'earnings currency bond treasury yield loan mortgage interest dividend portfolio etf ' +
    'inflation gdp economic economy budget expense accounting payroll insurance npv irr ' +
    'amortization salary revenue sec edgar filing fomc fed rate exchange ecb frankfurter ' +
    'polymarket kalshi prediction hedge valuation credit spend fiat payment trader investor ' +
    'spending corporate shareholder',
  security:
    'security threat malware vulnerability cve phishing fraud kyc kyb aml sanction ofac ' +
    'compliance risk breach exploit ransomware audit trust attestation attest guard mandate ' +
    'escrow injection sandbox epss kev ssl tls firewall password leak scam compromised ' +
    'restricted screening signature credential replay passport tamper wash attack pentest ' +
    'profanity fingerprint privacy',
  social:
    'social twitter tweet reddit farcaster instagram linkedin tiktok facebook youtube hashtag ' +
    'influencer follower creator discord telegram bluesky mastodon subreddit viral ' +
    'community feed friend profile',
  media:
    'image video audio music photo picture gif svg png jpeg thumbnail watermark logo icon art ' +
    'movie film song album artist lyrics podcast book gutenberg novel musicbrainz illustration ' +
    'color palette font speech voice tts transcription transcribe subtitle render animation ' +
    'crop resize bpm chord melody guitar cartoon anime streaming favicon avatar ' +
    'television tv comic manga meme concert playlist painting museum drawing sticker emoji',
  ai:
    'ai llm gpt nlp inference embedding summarize summary classify classification sentiment ' +
    'translate translation prompt model chatbot haiku claude openai anthropic gemini mistral ' +
    'rewrite paraphrase grammar keyword entity extraction caption moderation ' +
    'tokenizer completion benchmark openrouter huggingface readability tone reasoning ' +
    'agent vision recognition ocr embeddings perplexity copilot',
  search:
    'search serp crawl crawler scrape scraper scraping extract browse web webpage google bing ' +
    'duckduckgo result snippet rag retrieval arxiv index ' +
    'fetch bookmark',
  location:
    'location geo geolocation geocode geocoding map address route travel flight hotel place ' +
    'city country postal zip latitude longitude coordinates timezone airport boundary polyline ' +
    'openstreetmap nominatim geography distance vessel ship aviation suburb street park parking ' +
    'train station restaurant brewery trail locality continent region capital territory ' +
    'transport transit bus railway property',
  commerce:
    'commerce ecommerce shop shopping product gift cart order delivery purchase buy seller ' +
    'merchant coupon discount retail store amazon ebay inventory booking reservation reserve ' +
    'rental rent customer marketing landing pitch proposal quote furniture carpet flooring ' +
    'fashion outfit wardrobe vendor checkout shipping parcel ' +
    'auction marketplace listing',
  communication:
    'email mail sms phone message messaging notification calendar meeting inbox smtp mx spf ' +
    'dkim dmarc newsletter outreach subject reply signature bounce deliverability whatsapp ' +
    'voicemail call ticket support lead campaign followup press contact ' +
    'slack chat reminder',
  health:
    'health medical drug clinical patient nutrition fitness disease symptom pubmed fda hospital ' +
    'doctor pharmacy calorie wellness workout diabetes cancer mental sleep heart bmi medicine ' +
    'clinicaltrials therapy diagnosis sobriety vo2 burnout breathing meditation diet vaccine ' +
    'alzheimer obesity parkinson asthma mortality recall ' +
    'exercise athlete muscle food nutrient allergy',
  developer:
    'developer code github compute storage hosting database dns ip json pdf qr qrcode csv xml ' +
    'yaml html markdown regex uuid hash sha256 base64 encode decode cron url http api sdk npm ' +
    'package domain whois redirect header seo lighthouse latency uptime webhook queue task ' +
    'memory cache key lock mutex semaphore counter sequence election coordination logging log ' +
    'secret vault string array number random math validate validator validation format parser ' +
    'convert converter diff timestamp unit test mock jsonplaceholder schema openapi mcp server ' +
    'event worker retry schedule scheduled dequeue enqueue ttl set get delete list expired ' +
    'minify lint binary hex user status matrix bvh sitemap robots tag script ' +
    'sql kubernetes cloud deploy deployment devops repository git editor terminal ' +
    'framework documentation cms workflow browser automation component',
  data:
    'data dataset statistics lookup enrich enrichment company people person news research ' +
    'wikipedia encyclopedia trivia census population patent holiday library isbn openlibrary ' +
    'crossref journal paper publisher sports nfl nba espn scoreboard score team league spacex ' +
    'rocket launch astronomy planet joke quote fact dog cat pokemon recipe cocktail drink ' +
    'vin vehicle recall history historical series trend headline story hackernews government ' +
    'public firmographic satellite nasa dictionary word definition quiz ' +
    'game gaming esports card character job career vacancy hiring university course ' +
    'education campaign election registry open',
} as const satisfies Readonly<Record<string, string>>

type Category = keyof typeof TYPICAL_WORDS | 'other'

const CATEGORIES = Object.keys(TYPICAL_WORDS) as Exclude<Category, 'other'>[]

type ByWord = ReadonlyMap<string, readonly Exclude<Category, 'other'>[]>

let built: ByWord | undefined
/** Categories of each typical word; a word of several counts for each, but less. */
const categoriesByWord = (): ByWord => (built ??= groupByWord())

const groupByWord = (): ByWord => {
  const byWord = new Map<string, Exclude<Category, 'other'>[]>()
  for (const category of CATEGORIES) {
    for (const word of new Set(wordsOf(TYPICAL_WORDS[category]))) {
      byWord.set(word, [...(byWord.get(word) ?? []), category])
    }
  }
  return byWord
}

/** Cosine from which a word resembles a typical one, and the weight of its resemblance. */
const RESEMBLANCE = { min: 0.55, weight: 0.5 } as const

/** Words that tell how a service is offered or called, not what it is about. */
const TECHNICAL_WORDS = new Set(
  (
    'api http url json xml csv html rest sdk mcp server client protocol tool openapi schema ' +
    'swagger get set list delete string number array user status key format request response ' +
    'query developer doc documentation reference usage call pay service platform app web website ' +
    'site data information ai agent assistant llm model context x402 random'
  ).split(' '),
)
const TECHNICAL_FACTOR = 0.25
/** English rank at which a word counts half as much as a rare one. */
const HALF_WEIGHT_RANK = 300

/** Occurrences of a word that count. */
const REPETITIONS_MAX = 2

/** Text of a listing with its weight. */
export interface WeightedText {
  readonly text: string
  readonly weight: number
}

/** Returns the category whose typical words, or words like them, are most frequent. Pure. */
export function classify(texts: readonly WeightedText[]): Category {
  const scores = new Map<Exclude<Category, 'other'>, number>()
  const seen = new Map<string, number>()
  for (const { text, weight } of texts) {
    for (const word of wordsOf(text)) {
      const times = (seen.get(word) ?? 0) + 1
      seen.set(word, times)
      if (times > REPETITIONS_MAX) continue
      for (const [category, share] of sharesOf(word)) {
        scores.set(category, (scores.get(category) ?? 0) + weight * share)
      }
    }
  }
  const [best] = [...scores].toSorted(([, a], [, b]) => b - a)
  return best?.[0] ?? 'other'
}

const wordsOf = (text: string): string[] =>
  text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1)

type Share = readonly [category: Exclude<Category, 'other'>, share: number]
const sharesByWord = new Map<string, readonly Share[]>()
const SHARES_MAX = 20_000

/** Returns the categories of a word, with shares up to 1. */
function sharesOf(word: string): readonly Share[] {
  const known = sharesByWord.get(word)
  if (known) return known
  const byWord = categoriesByWord()
  const typical = byWord.get(word) ?? byWord.get(singular(word))
  const factor = specificity(word)
  const shares = typical
    ? typical.map((category) => [category, factor / typical.length] as const)
    : resemblance(word).map(([category, share]) => [category, factor * share] as const)
  if (sharesByWord.size < SHARES_MAX) sharesByWord.set(word, shares)
  return shares
}

/** Returns how much a word tells about a subject, from 0 to 1. */
function specificity(word: string): number {
  const single = singular(word)
  const vectors = wordVectors()
  const rank = vectors.rankOf(word) ?? vectors.rankOf(single) ?? Number.MAX_SAFE_INTEGER
  const rarity = rank / (rank + HALF_WEIGHT_RANK)
  return TECHNICAL_WORDS.has(single) ? rarity * TECHNICAL_FACTOR : rarity
}

/** Returns the category of the most similar typical word, by the word vectors. */
function resemblance(word: string): readonly Share[] {
  const vectors = wordVectors()
  if (vectors.rankOf(word) === undefined) return []
  let best: string | undefined
  let similarity: number = RESEMBLANCE.min
  for (const typical of categoriesByWord().keys()) {
    const cosine = vectors.similarity(word, typical)
    if (cosine > similarity) [best, similarity] = [typical, cosine]
  }
  const categories = categoriesByWord().get(best ?? '') ?? []
  return categories.map((category) => [
    category,
    (RESEMBLANCE.weight * similarity) / categories.length,
  ])
}
