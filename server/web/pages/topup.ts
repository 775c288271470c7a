import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { z } from 'zod'
import { findKeyCredits } from '../../../core/identity/key-credits.ts'
import { dollars, usd } from '../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { MAX_PURCHASE_MICROS, MIN_PURCHASE_MICROS } from '../../rest/account/credits.ts'
import type { KeyJson } from '../../rest/account/keys.ts'
import { purchaseId } from '../../rest/account/topups.ts'
import type { ListPage } from '../../rest/paging.ts'
import { COPY_SCRIPT, TOPUP_SCRIPT } from '../assets.ts'
import { selectOptions } from '../form.ts'
import { formatDollars, formatMicrodollars } from '../format.ts'
import { type Html, html } from '../html.ts'
import type { PageContent } from '../layout.ts'
import { type AnyPage, type PageRequest, page } from '../page.ts'
import { qrCode } from '../qr-code.ts'
import { copyableText } from '../snippets.ts'

const DEFAULT_AMOUNT = '5.00'

const Query = z.object({
  amount_usd: z.string().trim().max(64).default(DEFAULT_AMOUNT),
  key_id: z.string().trim().max(64).default(''),
  purchase_id: purchaseId.optional(),
})

export interface TopupDeps {
  readonly pool: Pool
  readonly baseUrl: () => string
  readonly site: { readonly sandbox: boolean }
  readonly treasury: Hex
  /** The first block of a sandbox's chain, which is not the real one; undefined: the real one. */
  readonly genesis: () => Promise<Hex | undefined>
}

/** `/topup`: credits for a key, paid by one signature of a wallet in the browser. */
export const topupPage = (ports: TopupDeps): AnyPage =>
  page({
    path: '/topup',
    query: Query,
    personal: true,
    render: async (request) => {
      const { key_id: keyId, amount_usd: text, purchase_id: given } = request.query
      const keys = await ownKeys(request)
      const filled = { keyId, amount: text, keys }
      if (keyId === '') return { title: 'Top up', main: form(filled) }
      const amount = amountOf(text)
      if (amount === undefined) return refused(filled, 422, { amount: BOUNDS })
      if (!(await findKeyCredits(deps.pool, keyId))) return refused(filled, 404, { key: NO_KEY })
      const mine = keys.find((key) => key.key_id === keyId)
      const purchaseId = given ?? `pur_${randomUUID()}`
      const order = { keyId, amount, purchaseId, isMine: mine !== undefined }
      return {
        title: `Top up ${formatDollars(amount)}`,
        ...(mine && { section: 'Account' }),
        scripts: [COPY_SCRIPT, TOPUP_SCRIPT],
        main: html`${
          mine && html`<p class="breadcrumb"><a href="/account/keys/${keyId}">${nameOf(mine)}</a></p>`
        }<h1>Top up ${formatDollars(amount)}</h1>
<p class="lead">Credits for the key
${mine?.name && html`<strong>${mine.name}</strong>,`} <code>${keyId}</code>,
paid in USDC on Base.</p>${payment(order, deps, await deps.genesis())}${elsewhere(
          order,
          deps,
        )}${form(filled)}`,
      }
    },
  })

const DOLLARS = /^\$?(\d{1,5}(?:\.\d{1,6})?)$/
const BOUNDS = `Dollars: ${formatDollars(MIN_PURCHASE_MICROS)} to ${formatDollars(MAX_PURCHASE_MICROS)}.`
const NO_KEY = 'There is no such key, or it is no longer in use.'

/** Undefined for what is no amount, or not one that can be bought. */
function amountOf(text: string): bigint | undefined {
  const [, figure] = DOLLARS.exec(text) ?? []
  const amount = figure === undefined ? 0n : usd(figure)
  return amount >= MIN_PURCHASE_MICROS && amount <= MAX_PURCHASE_MICROS ? amount : undefined
}

/** The keys that hold credits, of whoever is signed in. */
async function ownKeys({ session, api }: PageRequest): Promise<readonly KeyJson[]> {
  if (!session) return []
  const { data } = await api<ListPage<KeyJson>>('GET /v1/keys', { query: { limit: '100' } })
  return data.filter((key) => key.balance_microdollars !== null && key.revoked_at === null)
}

const nameOf = ({ key_id: id, name }: KeyJson): string => name ?? id

interface Order {
  readonly keyId: string
  readonly amount: bigint
  readonly purchaseId: string
  /** Of whoever is signed in. */
  readonly isMine: boolean
}

const payment = (
  { keyId, amount, purchaseId, isMine }: Order,
  { treasury }: TopupDeps,
  genesis: Hex | undefined,
): Html =>
  html`<section id="pay" class="box" data-amount="${String(amount)}" data-key-id="${keyId}"
data-purchase-id="${purchaseId}" data-chain-id="${USDC_BASE.chainId}"
data-asset="${USDC_BASE.address}" data-pay-to="${treasury}"${
    genesis !== undefined && html` data-genesis="${genesis}"`
  }><h2>Pay with a wallet in this browser</h2>
<p>Your wallet signs one authorization, for exactly
${formatDollars(amount)} to <code>${treasury}</code>. It
sends no transaction, and needs no ETH. The credits are there when the chain has it, in seconds.</p>
<p><button type="button" hidden>Pay ${formatDollars(amount)}</button>${
    isMine && html`<a class="button" href="/account/keys/${keyId}" hidden>See the key</a>`
  }</p>
<p role="status" aria-live="polite"></p>
<noscript><p>This needs JavaScript, to ask the wallet. The command line does not.</p></noscript>
</section>`

function elsewhere(
  { keyId, amount, purchaseId }: Order,
  { baseUrl, site: { sandbox } }: TopupDeps,
): Html {
  const text = dollars(amount)
  const order = { amount_usd: text, key_id: keyId, purchase_id: purchaseId }
  const url = `${baseUrl()}/topup?${new URLSearchParams(order).toString()}`
  const command = [
    `npx agenthub topup ${text}`,
    `--hub ${baseUrl()}`,
    `--purchase-id ${purchaseId}`,
  ].join(' \\\n  ')
  return html`<div class="columns"><section><h2>Wallet on another device</h2>
<p>Open this page there. It is one purchase, wherever it is paid.</p>
${qrCode(url, 'The address of this page')}
<p><button type="button" class="plain" data-copy="${url}" hidden>Copy the address</button></p>
</section><section><h2>Command line</h2><p>With the secret of this key in
<code>HUB_API_KEY</code>, and the wallet that <code>npx agenthub register</code> makes${
    sandbox && html`; in this sandbox it is given test money`
  }:</p>${copyableText(command, 'Copy the command')}</section></div>`
}

interface Filled {
  readonly keyId: string
  readonly amount: string
  /** Those to choose from. */
  readonly keys: readonly KeyJson[]
}

/** What is wrong, at the field that it stands in. */
type Wrong = Readonly<Partial<Record<'key' | 'amount', string>>>

/** The form as it was filled in, with what is wrong. */
const refused = (filled: Filled, status: number, wrong: Wrong): PageContent => ({
  title: 'Top up',
  status,
  main: form(filled, wrong),
})

/** Asks for key and amount; below a purchase for another amount. */
function form({ keyId, amount, keys }: Filled, wrong?: Wrong): Html {
  const isFirst = keyId === '' || wrong !== undefined
  const isOther = keyId !== '' && !keys.some((key) => key.key_id === keyId)
  return html`${isFirst && html`<h1>Top up</h1>`}
<h2>${isFirst ? 'Which key?' : 'Another amount'}</h2>
<form action="/topup" class="filters"><div>${
    keys.length > 0 && !isOther
      ? html`<label for="key_id">Key</label><select id="key_id" name="key_id">${selectOptions(
          Object.fromEntries(keys.map((key) => [key.key_id, labelOf(key)])),
          keyId,
        )}</select>`
      : html`<label for="key_id">Key id</label><input id="key_id" name="key_id" value="${keyId}"
required size="34" spellcheck="false"${marked('key', wrong)}>`
  }${error('key', wrong)}</div><div><label for="amount_usd">Dollars</label>
<input id="amount_usd" name="amount_usd" value="${amount}" inputmode="decimal" size="8"
required${marked('amount', wrong)}>${error('amount', wrong)}</div>
<button type="submit"${!isFirst && html` class="plain"`}>Go on</button></form>${
    isFirst &&
    keys.length === 0 &&
    html`<p class="small muted">The id, not the secret: <a href="/account/keys">your account</a>
shows it, and so do <code>npx agenthub keys</code> and <code>GET /v1/keys</code>.</p>`
  }`
}

const marked = (name: keyof Wrong, wrong: Wrong = {}): Html | undefined =>
  wrong[name] === undefined
    ? undefined
    : html` aria-invalid="true" aria-describedby="${name}-error" autofocus`

const error = (name: keyof Wrong, wrong: Wrong = {}): Html | undefined =>
  wrong[name] === undefined
    ? undefined
    : html`<p class="error" id="${name}-error">${wrong[name]}</p>`

const labelOf = (key: KeyJson): string =>
  `${nameOf(key)}, ${formatMicrodollars(key.balance_microdollars ?? 0)}`
