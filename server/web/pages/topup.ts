import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import {
  findKeyCredits,
  type KeyCredits,
  listMainKeys,
  type MainKey,
} from '../../../core/identity/main-keys.ts'
import { MIN_TOP_UP, usd } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { listRecentPurchases } from '../../../core/payments/receiving/recent-purchases.ts'
import {
  type CreditsDeps,
  findPurchase,
  isCredited,
  MAX_PURCHASE_MICROS,
} from '../../rest/account/credits.ts'
import { purchaseId, type TopupOrder } from '../../rest/account/topups.ts'
import type { InProcessApi } from '../../rest/in-process.ts'
import { inputFault } from '../../rest/input-errors.ts'
import { TOPUP_SCRIPT } from '../assets.ts'
import { selectOptions, viewSwitch } from '../form.ts'
import { formatDollars } from '../format.ts'
import { type Html, html } from '../html.ts'
import type { PageContent, Site } from '../layout.ts'
import { type AnyPage, type FormAction, formAction, type PageRequest, page } from '../page.ts'
import { withQuery } from '../table.ts'
import {
  otherWays,
  type Purchase,
  payment,
  paymentSteps,
  pendingPayment,
  purchasePath,
  receipt,
  recentPayments,
  testPayment,
} from './topup-purchase.ts'

const DEFAULT_AMOUNT = '5.00'
/** Amounts to choose from, in dollars. */
const PRESETS = ['5', '20', '50', '100'] as const

const Query = z.object({
  amount_usd: z.string().trim().max(64).default(DEFAULT_AMOUNT),
  key_id: z.string().trim().max(64).default(''),
  purchase_id: purchaseId.optional(),
})

export interface TopupDeps extends Pick<CreditsDeps, 'pool' | 'claims'> {
  readonly baseUrl: () => string
  /** Command that starts the command line. */
  readonly command: () => string
  readonly site: Site
  readonly treasury: Hex
  /** Hash of the first block of a sandbox's chain; undefined on the real chain. */
  readonly genesis: () => Promise<Hex | undefined>
  /** Pays for test credits; undefined with real money. */
  readonly payTest?: ((api: InProcessApi, order: TopupOrder) => Promise<void>) | undefined
}

/** Buys credits from a new test wallet. A repeated form is the same purchase. */
const testAction = ({ payTest }: TopupDeps): FormAction =>
  formAction({
    fields: z.object({ key_id: z.string(), amount_usd: z.string(), purchase_id: purchaseId }),
    run: async ({ api }, fields) => {
      if (!payTest) throw new Fault('not_found', 'Test credits exist only in sandboxes.')
      const amount = parseAmount(fields.amount_usd)
      if (amount === undefined) throw inputFault('/amount_usd', AMOUNT_ERROR)
      const { key_id: keyId, purchase_id: purchaseId } = fields
      await payTest(api, {
        key_id: keyId,
        amount_microdollars: Number(amount),
        purchase_id: purchaseId,
      })
      return { to: purchasePath({ keyId, amount, purchaseId }) }
    },
  })

/** `/topup`: buys credits for a key. Its address names the purchase, so that it is paid once. */
export const topupPage = (deps: TopupDeps): AnyPage =>
  page('/topup', {
    query: Query,
    access: 'personal',
    actions: { test: testAction(deps) },
    render: async (request) => {
      const { key_id: keyId, amount_usd: text, purchase_id: named } = request.query
      const keys = await ownKeys(deps.pool, request)
      const values = { keyId, amount: text, keys }
      if (keyId === '') return { title: 'Top up', main: form(values) }
      const amount = parseAmount(text)
      if (amount === undefined) return invalidForm(values, 422, { amount: AMOUNT_ERROR })
      const key = await findKeyCredits(deps.pool, keyId)
      if (!key) return invalidForm(values, 404, { key: KEY_ERROR })
      if (named === undefined)
        return { to: purchasePath({ keyId, amount, purchaseId: `pur_${randomUUID()}` }) }
      const mine = keys.find(({ id }) => id === keyId)
      const purchase = { keyId, amount, purchaseId: named, mine }
      const { title, main, scripts } = await purchaseParts(deps, key, purchase)
      return {
        title,
        ...(mine && { section: 'Account' }),
        scripts,
        main: html`${
          mine &&
          html`<p class="breadcrumb"><a href="/account/keys/${keyId}">${nameOf(mine)}</a></p>`
        }<h1>${title}</h1>${main}${form(values)}`,
      }
    },
  })

/** Title, content and scripts by the state of the purchase: unpaid, pending or credited. */
async function purchaseParts(deps: TopupDeps, key: KeyCredits, purchase: Purchase) {
  const { keyId, purchaseId, mine } = purchase
  const { baseUrl, command, site, treasury, payTest } = deps
  const claim = await findPurchase(deps, key, purchaseId)
  const amount = claim?.amount ?? purchase.amount
  const title = `Top up ${formatDollars(amount)}`
  if (claim && isCredited(claim)) {
    const paid = receipt(purchase, { ...claim, payer: claim.key.payer })
    const main = html`${paymentSteps('Credited')}${paid}`
    return { title, main, scripts: [] }
  }
  const terms = { treasury, genesis: await deps.genesis() }
  const scripts = [TOPUP_SCRIPT]
  if (claim) {
    const pending = pendingPayment({ ...purchase, amount }, terms)
    return { title, main: html`${paymentSteps('Confirm')}${pending}`, scripts }
  }
  const recent = mine ? await listRecentPurchases(deps.pool, key.credits.code) : []
  const ways = { baseUrl: baseUrl(), command: command(), sandbox: site.sandbox }
  const main = html`${paymentSteps('Sign')}${presets(purchase)}<p class="lead">Credits for the key
${mine?.name && html`<strong>${mine.name}</strong>,`} <code>${keyId}</code>,
paid in USDC on Base.</p>${recentPayments(recent)}${payTest && testPayment(purchase)}${payment(
    purchase,
    terms,
  )}${otherWays(purchase, ways)}`
  return { title, main, scripts }
}

/** Links to the same top-up with another amount. */
const presets = ({ keyId, amount }: Purchase): Html =>
  viewSwitch(
    'Amount',
    Object.fromEntries(PRESETS.map((preset) => [preset, formatDollars(usd(preset))])),
    PRESETS.find((preset) => usd(preset) === amount) ?? '',
    (preset) => withQuery('/topup', { key_id: keyId, amount_usd: preset }),
  )

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
async function ownKeys(pool: Pool, { session }: PageRequest): Promise<readonly MainKey[]> {
  if (!session) return []
  const keys = await listMainKeys(pool, session.principals)
  return keys.filter(({ revoked }) => !revoked)
}

const nameOf = ({ id, name }: MainKey): string => name ?? id

interface FormValues {
  readonly keyId: string
  readonly amount: string
  /** Options of the key field. */
  readonly keys: readonly MainKey[]
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
  const isOther = keyId !== '' && !keys.some(({ id }) => id === keyId)
  return html`${isFirst && html`<h1>Top up</h1>`}
<h2>${isFirst ? 'Key and amount' : 'Change amount'}</h2>
<form action="/topup" class="filters"><div>${
    keys.length > 0 && !isOther
      ? html`<label for="key_id">Key</label><select id="key_id" name="key_id">${selectOptions(
          Object.fromEntries(keys.map((key) => [key.id, labelOf(key)])),
          keyId,
        )}</select>`
      : html`<label for="key_id">Key id</label><input id="key_id" name="key_id" value="${keyId}"
required size="34" spellcheck="false"${errorAttributes('key', errors)}>`
  }${errorText('key', errors)}</div><div><label for="amount_usd">Amount (USD)</label>
<input id="amount_usd" name="amount_usd" value="${amount}" inputmode="decimal" size="8"
list="amounts" required${errorAttributes('amount', errors)}>${errorText('amount', errors)}
<datalist id="amounts">${PRESETS.map(
    (preset) => html`<option value="${preset}"></option>`,
  )}</datalist></div>
<button type="submit"${!isFirst && html` class="plain"`}>Continue</button></form>${
    isFirst &&
    keys.length === 0 &&
    html`<p class="small muted">Enter the key id, not the secret. You find it in <a
href="/account/keys">your account</a>,
or with <code>GET /v1/keys</code>.</p>`
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

const labelOf = (key: MainKey): string => `${nameOf(key)}, ${formatDollars(key.balance)}`
