import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { z } from 'zod'
import { findKeyCredits } from '../../../core/identity/main-keys.ts'
import { dollars, MIN_TOP_UP, usd } from '../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { COMMAND_LINE } from '../../../core/release.ts'
import { MAX_PURCHASE_MICROS } from '../../rest/account/credits.ts'
import type { KeyJson } from '../../rest/account/keys.ts'
import { purchaseId } from '../../rest/account/topups.ts'
import type { ListPage } from '../../rest/paging.ts'
import { COPY_SCRIPT, TOPUP_SCRIPT } from '../assets.ts'
import { selectOptions } from '../form.ts'
import { formatDollars } from '../format.ts'
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
  /** Hash of the first block of a sandbox's chain; undefined on the real chain. */
  readonly genesis: () => Promise<Hex | undefined>
}

/** `/topup`: buys credits for a key with one signature of the browser's wallet. */
export const topupPage = (deps: TopupDeps): AnyPage =>
  page('/topup', {
    query: Query,
    access: 'personal',
    render: async (request) => {
      const { key_id: keyId, amount_usd: text, purchase_id: resumed } = request.query
      const keys = await ownKeys(request)
      const values = { keyId, amount: text, keys }
      if (keyId === '') return { title: 'Top up', main: form(values) }
      const amount = parseAmount(text)
      if (amount === undefined) return invalidForm(values, 422, { amount: AMOUNT_ERROR })
      if (!(await findKeyCredits(deps.pool, keyId)))
        return invalidForm(values, 404, { key: KEY_ERROR })
      const mine = keys.find((key) => key.key_id === keyId)
      const purchaseId = resumed ?? `pur_${randomUUID()}`
      const purchase = { keyId, amount, purchaseId, isMine: mine !== undefined }
      return {
        title: `Top up ${formatDollars(amount)}`,
        ...(mine && { section: 'Account' }),
        scripts: [COPY_SCRIPT, TOPUP_SCRIPT],
        main: html`${
          mine &&
          html`<p class="breadcrumb"><a href="/account/keys/${keyId}">${nameOf(mine)}</a></p>`
        }<h1>Top up ${formatDollars(amount)}</h1>
<p class="lead">Credits for the key
${mine?.name && html`<strong>${mine.name}</strong>,`} <code>${keyId}</code>,
paid in USDC on Base.</p>${paymentPart(purchase, deps, await deps.genesis())}${otherDevices(
          purchase,
          deps,
        )}${form(values)}`,
      }
    },
  })

const DOLLARS = /^\$?(\d{1,5}(?:\.\d{1,6})?)$/
const BOUNDS = [MIN_TOP_UP, MAX_PURCHASE_MICROS].map(formatDollars)
const AMOUNT_ERROR = `Enter ${BOUNDS.join(' to ')}.`
const KEY_ERROR = 'Unknown or revoked key.'

/** Amount in microdollars; undefined if it is invalid or out of bounds. */
function parseAmount(text: string): bigint | undefined {
  const [, figure] = DOLLARS.exec(text) ?? []
  const amount = figure === undefined ? 0n : usd(figure)
  return amount >= MIN_TOP_UP && amount <= MAX_PURCHASE_MICROS ? amount : undefined
}

/** Active main keys of the signed-in account. */
async function ownKeys({ session, api }: PageRequest): Promise<readonly KeyJson[]> {
  if (!session) return []
  const { data } = await api<ListPage<KeyJson>>('GET /v1/keys', { query: { limit: '100' } })
  return data.filter((key) => key.balance_microdollars !== null && key.revoked_at === null)
}

const nameOf = ({ key_id: id, name }: KeyJson): string => name ?? id

interface Purchase {
  readonly keyId: string
  readonly amount: bigint
  readonly purchaseId: string
  /** True if the key belongs to the signed-in account. */
  readonly isMine: boolean
}

const paymentPart = (
  { keyId, amount, purchaseId, isMine }: Purchase,
  { treasury }: TopupDeps,
  genesis: Hex | undefined,
): Html =>
  html`<section id="pay" class="box" data-amount="${String(amount)}" data-key-id="${keyId}"
data-purchase-id="${purchaseId}" data-chain-id="${USDC_BASE.chainId}"
data-asset="${USDC_BASE.address}" data-pay-to="${treasury}"${
    genesis !== undefined && html` data-genesis="${genesis}"`
  }><h2>Pay with a wallet in this browser</h2>
<p>Your wallet signs one authorization of exactly
${formatDollars(amount)} to <code>${treasury}</code>. It
needs no ETH. Credits arrive in seconds, once the payment is on chain.</p>
<p><button type="button" hidden>Pay ${formatDollars(amount)}</button>${
    isMine && html`<a class="button" href="/account/keys/${keyId}" hidden>View key</a>`
  }</p>
<p role="status" aria-live="polite"></p>
<noscript><p>Paying with a wallet needs JavaScript. The command line below works
without.</p></noscript> </section>`

function otherDevices(
  { keyId, amount, purchaseId }: Purchase,
  { baseUrl, site: { sandbox } }: TopupDeps,
): Html {
  const text = dollars(amount)
  const query = { amount_usd: text, key_id: keyId, purchase_id: purchaseId }
  const url = `${baseUrl()}/topup?${new URLSearchParams(query).toString()}`
  const command = [
    `${COMMAND_LINE} topup ${text}`,
    `--hub ${baseUrl()}`,
    `--purchase-id ${purchaseId}`,
  ].join(' \\\n  ')
  return html`<div class="columns"><section><h2>Wallet on another device</h2>
<p>Open this page there. You can pay for this purchase only once.</p>
${qrCode(url, 'Link to this page')}
<p><button type="button" class="plain" data-copy="${url}" hidden>Copy page link</button></p>
</section><section><h2>Command line</h2><p>Set <code>HUB_API_KEY</code> to the secret of this key.
Pays with the wallet created by <code>${COMMAND_LINE} register</code>${
    sandbox && html`; this sandbox funds it with test money`
  }.</p>${copyableText(command, 'Copy command')}</section></div>`
}

interface FormValues {
  readonly keyId: string
  readonly amount: string
  /** Options of the key field. */
  readonly keys: readonly KeyJson[]
}

/** Error messages by field. */
type FormErrors = Readonly<Partial<Record<'key' | 'amount', string>>>

/** Form with the submitted values and their errors. */
const invalidForm = (values: FormValues, status: number, errors: FormErrors): PageContent => ({
  title: 'Top up',
  status,
  main: form(values, errors),
})

/** Form for key and amount. Below a purchase it starts another one. */
function form({ keyId, amount, keys }: FormValues, errors?: FormErrors): Html {
  const isFirst = keyId === '' || errors !== undefined
  const isOther = keyId !== '' && !keys.some((key) => key.key_id === keyId)
  return html`${isFirst && html`<h1>Top up</h1>`}
<h2>${isFirst ? 'Key and amount' : 'Change amount'}</h2>
<form action="/topup" class="filters"><div>${
    keys.length > 0 && !isOther
      ? html`<label for="key_id">Key</label><select id="key_id" name="key_id">${selectOptions(
          Object.fromEntries(keys.map((key) => [key.key_id, labelOf(key)])),
          keyId,
        )}</select>`
      : html`<label for="key_id">Key id</label><input id="key_id" name="key_id" value="${keyId}"
required size="34" spellcheck="false"${errorAttributes('key', errors)}>`
  }${errorText('key', errors)}</div><div><label for="amount_usd">Amount (USD)</label>
<input id="amount_usd" name="amount_usd" value="${amount}" inputmode="decimal" size="8"
required${errorAttributes('amount', errors)}>${errorText('amount', errors)}</div>
<button type="submit"${!isFirst && html` class="plain"`}>Continue</button></form>${
    isFirst &&
    keys.length === 0 &&
    html`<p class="small muted">Enter the key id, not the secret. You find it in <a
href="/account/keys">your account</a>,
with <code>${COMMAND_LINE} keys</code> or <code>GET /v1/keys</code>.</p>`
  }`
}

const errorAttributes = (name: keyof FormErrors, errors: FormErrors = {}): Html | undefined =>
  errors[name] === undefined
    ? undefined
    : html` aria-invalid="true" aria-describedby="${name}-error" autofocus`

const errorText = (name: keyof FormErrors, errors: FormErrors = {}): Html | undefined =>
  errors[name] === undefined
    ? undefined
    : html`<p class="error" id="${name}-error">${errors[name]}</p>`

const labelOf = (key: KeyJson): string =>
  `${nameOf(key)}, ${formatDollars(key.balance_microdollars ?? 0)}`
