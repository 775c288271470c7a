import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { findKeyCredits } from '../../../core/identity/key-credits.ts'
import { dollars, priceTag, usd } from '../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/asset.ts'
import { MAX_PURCHASE, MIN_PURCHASE } from '../../rest/credits.ts'
import { purchaseId } from '../../rest/topups.ts'
import { COPY_SCRIPT, TOPUP_SCRIPT } from '../assets.ts'
import { type Html, html } from '../html.ts'
import { type AnyPage, page } from '../page.ts'
import { qrCode } from '../qr.ts'

const DEFAULT_AMOUNT = '5.00'

const Query = z.object({
  amount_usd: z
    .string()
    .regex(/^\d{1,5}(?:\.\d{1,6})?$/, 'dollars, such as 5.00')
    .default(DEFAULT_AMOUNT),
  key_id: z
    .string()
    .max(64)
    .transform((text) => text.trim())
    .default(''),
  purchase_id: purchaseId.optional(),
})

export interface TopupPorts {
  readonly pool: Pool
  readonly baseUrl: () => string
  readonly treasury: Hex
  /** The first block of a sandbox's chain, which is not the real one; undefined: the real one. */
  readonly genesis: () => Promise<Hex | undefined>
}

/** `/topup`: credits for a key, paid by one signature of a wallet in the browser. */
export const topupPage = (ports: TopupPorts): AnyPage =>
  page({
    path: '/topup',
    query: Query,
    own: true,
    show: async ({ query }) => {
      const { key_id: keyId, amount_usd: text, purchase_id: given } = query
      if (keyId === '') return { title: 'Top up', main: form('', text) }
      const amount = usd(text)
      if (amount < MIN_PURCHASE || amount > MAX_PURCHASE) {
        throw new Fault(
          'validation_failed',
          `A top-up is ${priceTag(MIN_PURCHASE)} to ${priceTag(MAX_PURCHASE)}.`,
        )
      }
      const known = await findKeyCredits(ports.pool, keyId)
      if (!known) throw new Fault('not_found', 'There is no such key, or it is no longer in use.')
      const order = { keyId, amount, purchaseId: given ?? `pur_${randomUUID()}` }
      return {
        title: `Top up ${priceTag(amount)}`,
        scripts: [COPY_SCRIPT, TOPUP_SCRIPT],
        main: html`<h1>Top up ${priceTag(amount)}</h1>
<p class="lead">Credits for the key <code>${keyId}</code>, paid in USDC on Base.</p>
${payment(order, ports, await ports.genesis())}${elsewhere(order, ports)}${form(keyId, text)}`,
      }
    },
  })

interface Order {
  readonly keyId: string
  readonly amount: bigint
  readonly purchaseId: string
}

const payment = (
  { keyId, amount, purchaseId }: Order,
  { treasury }: TopupPorts,
  genesis: Hex | undefined,
): Html =>
  html`<section id="pay" class="box" data-amount="${String(amount)}" data-key-id="${keyId}"
data-purchase-id="${purchaseId}" data-chain-id="${USDC_BASE.chainId}"
data-asset="${USDC_BASE.address}" data-pay-to="${treasury}"${
    genesis !== undefined && html` data-genesis="${genesis}"`
  }><h2>Pay with a wallet in this browser</h2>
<p>Your wallet signs one authorization, for exactly
${priceTag(amount)} to <code>${treasury}</code>. It
sends no transaction, and needs no ETH. The credits are there when the chain has it, in seconds.</p>
<p><button type="button" hidden>Pay ${priceTag(amount)}</button></p>
<p role="status" aria-live="polite"></p>
<noscript><p>This needs JavaScript, to ask the wallet. The command line does not.</p></noscript>
</section>`

function elsewhere({ keyId, amount, purchaseId }: Order, { baseUrl }: TopupPorts): Html {
  const text = dollars(amount)
  const order = { amount_usd: text, key_id: keyId, purchase_id: purchaseId }
  const url = `${baseUrl()}/topup?${new URLSearchParams(order).toString()}`
  return html`<div class="columns"><section><h2>Wallet on another device</h2>
<p>Open this page there. It is one purchase, wherever it is paid.</p>
${qrCode(url, 'The address of this page')}
<p><button type="button" class="plain" data-copy="${url}" hidden>Copy the address</button></p>
</section><section><h2>Command line</h2><p>With the wallet of the command line:</p>
<pre tabindex="0"><code>npx agenthub topup ${text}</code></pre></section></div>`
}

const form = (keyId: string, amount: string): Html =>
  html`${keyId === '' && html`<h1>Top up</h1>`}
<h2>${keyId === '' ? 'Which key?' : 'Another amount'}</h2>
<form action="/topup" class="fields"><div><label for="key_id">Key id</label>
<input id="key_id" name="key_id" value="${keyId}" required size="34" spellcheck="false"></div>
<div><label for="amount_usd">Dollars</label><input id="amount_usd" name="amount_usd"
value="${amount}" inputmode="decimal" size="8" required></div>
<button type="submit">Go on</button></form>${
    keyId === '' &&
    html`<p class="small muted">The id, not the secret: <code>hub keys</code> shows it, and
<code>GET /v1/keys</code>.</p>`
  }`
