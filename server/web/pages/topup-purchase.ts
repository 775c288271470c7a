import type { MainKey } from '../../../core/identity/main-keys.ts'
import { dollars } from '../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import type { RecentPurchase } from '../../../core/payments/receiving/recent-purchases.ts'
import { isCredited, topupCommand } from '../../rest/account/credits.ts'
import { copyableText } from '../code-tabs.ts'
import { documentPath } from '../documents-table.ts'
import { form } from '../form.ts'
import { alignedFormatter, formatDollars, formatTime } from '../format.ts'
import { type Html, html } from '../html.ts'
import { flashMessage } from '../messages.ts'
import { qrCode } from '../qr-code.ts'
import { definitionList, shortHash, table, timeAgo, withQuery } from '../table.ts'
import { walletChoice } from '../wallet-signature.ts'

/** Purchase that the address of the page names. */
export interface Purchase {
  readonly keyId: string
  readonly amount: bigint
  readonly purchaseId: string
  /** The key, if it belongs to the signed-in account. */
  readonly mine: MainKey | undefined
}

export const purchasePath = ({ keyId, amount, purchaseId }: Omit<Purchase, 'mine'>): string =>
  withQuery('/topup', { key_id: keyId, amount_usd: dollars(amount), purchase_id: purchaseId })

export interface PaymentTerms {
  readonly treasury: Hex
  /** Hash of the first block of a sandbox's chain; undefined on the real chain. */
  readonly genesis: Hex | undefined
}

const paymentSection = (purchase: Purchase, { treasury, genesis }: PaymentTerms, body: Html) =>
  html`<section id="pay" class="box" data-amount="${String(purchase.amount)}"
data-key-id="${purchase.keyId}" data-purchase-id="${purchase.purchaseId}"
data-chain-id="${USDC_BASE.chainId}" data-asset="${USDC_BASE.address}" data-pay-to="${treasury}"${
    genesis !== undefined && html` data-genesis="${genesis}"`
  }>${body}<p role="status" aria-live="polite"></p></section>`

const STEPS = ['Sign', 'Confirm', 'Credited'] as const

/** Steps of a purchase, from the signature to the credits. */
export const paymentSteps = (current: (typeof STEPS)[number]): Html =>
  html`<ol class="payment-steps" aria-label="Steps">${STEPS.map(
    (step) => html`<li${step === current && CURRENT_STEP}>${step}</li>`,
  )}</ol>`

const CURRENT_STEP = html` aria-current="step"`

/** Button that pays with the wallet of the browser. */
export const payment = (purchase: Purchase, terms: PaymentTerms): Html =>
  paymentSection(
    purchase,
    terms,
    html`<h2>Pay with a wallet in this browser</h2>
<p>Your wallet signs one authorization of exactly
${formatDollars(purchase.amount)} to <code>${terms.treasury}</code>. It
needs no ETH. Credits arrive in seconds, once the payment is on chain. Do not send USDC to that
address yourself: a plain transfer names no key and is not credited automatically.</p>
${walletChoice()}
<p><button type="button" hidden>Pay ${formatDollars(purchase.amount)}</button></p>
<noscript><p>Paying with a wallet needs JavaScript. The command line below works
without.</p></noscript>`,
  )

/** State of a payment that was sent and is not credited yet. The script waits for it. */
export const pendingPayment = (purchase: Purchase, terms: PaymentTerms): Html =>
  paymentSection(
    purchase,
    terms,
    html`<h2>Payment pending</h2><p>We received a payment of
${formatDollars(purchase.amount)} and are waiting for the blockchain. <strong>Do not pay
again.</strong> This page shows the receipt as soon as the credits have arrived.</p>
<p><a class="button plain" href="${purchasePath(purchase)}">Check again</a></p>`,
  )

const credited = ({ amount }: RecentPurchase): Html =>
  html`<p><strong>Credited ${formatDollars(amount)}.</strong></p>`

/** Receipt of a credited purchase. */
export const receipt = ({ keyId, mine }: Purchase, paid: RecentPurchase): Html =>
  html`${flashMessage('good', credited(paid))}${definitionList({
    'New balance': mine && formatDollars(mine.balance),
    Key: html`<code>${keyId}</code>`,
    Paid: formatTime(paid.claimedAt),
    'From wallet': shortHash(paid.payer),
    Transaction: paid.transaction !== null && shortHash(paid.transaction),
  })}<p class="actions">${
    mine &&
    html`<a class="button" href="/account/keys/${keyId}">View key</a>
<a class="button plain" href="${documentPath('purchase', paid.id)}">Receipt</a>`
  }</p>`

/** Payments of the last day for the key, so that nobody pays again for a lost response. */
export function recentPayments(rows: readonly RecentPurchase[]): Html | undefined {
  if (rows.length === 0) return undefined
  const format = alignedFormatter(rows.map(({ amount }) => amount))
  const isPending = rows.some((row) => !isCredited(row))
  return html`<h2>Payments of the last day</h2>${
    isPending &&
    html`<p class="box fair">A payment is pending. Pay again only if you want to add more
credits.</p>`
  }${table(
    'Payments of the last day',
    [
      { head: 'Time', noWrap: true, cell: (each) => timeAgo(each.claimedAt) },
      { head: 'Amount', number: true, cell: (each) => format(each.amount) },
      {
        head: 'State',
        cell: (each) =>
          isCredited(each)
            ? html`<span class="badge good">credited</span>`
            : html`<span class="badge fair">pending</span>`,
      },
    ],
    rows,
  )}`
}

/** Form that adds test credits, in sandboxes. */
export const testPayment = ({ keyId, amount, purchaseId }: Purchase): Html =>
  html`<section class="box"><h2>Test credits</h2><p>Real wallets cannot pay in this sandbox.
A new test wallet pays instead.</p>${form({
    act: 'test',
    submit: `Add ${formatDollars(amount)} test credits`,
    hidden: { key_id: keyId, amount_usd: dollars(amount), purchase_id: purchaseId },
  })}</section>`

/** Links that open a page in the browser of a wallet app, by the name of the app. */
export function walletAppLinks(url: string): Readonly<Record<string, string>> {
  const { host, pathname, search } = new URL(url)
  const target = encodeURIComponent(url)
  return {
    MetaMask: `https://metamask.app.link/dapp/${host}${pathname}${search}`,
    'Coinbase Wallet': `https://go.cb-w.com/dapp?cb_url=${target}`,
    'Trust Wallet': `https://link.trustwallet.com/open_url?coin_id=60&url=${target}`,
  }
}

export interface OtherWays {
  readonly baseUrl: string
  readonly command: string
  readonly sandbox: boolean
}

/** Other ways to pay: on a phone, on another device and on the command line. */
export function otherWays(purchase: Purchase, { baseUrl, command, sandbox }: OtherWays): Html {
  const url = `${baseUrl}${purchasePath(purchase)}`
  const topup = topupCommand(command, { ...purchase, baseUrl }).join(' \\\n  ')
  return html`<div class="columns"><section><h2>Wallet on a phone</h2>${
    !sandbox &&
    html`<p>On this phone, open this page in your wallet app:</p><ul>${Object.entries(
      walletAppLinks(url),
    ).map(([name, link]) => html`<li><a href="${link}">${name}</a></li>`)}</ul>`
  }<p>On another device, scan this code with it. You can pay for this purchase only once.</p>
${qrCode(url, 'Link to this page')}
<p><button type="button" class="plain" data-copy="${url}" hidden>Copy page link</button></p>
</section><section><h2>Command line</h2><p>Set <code>HUB_API_KEY</code> to the secret of this key.
Pays with the wallet created by <code>${command} register</code>${
    sandbox && html`; this sandbox funds it with test money`
  }.</p>${copyableText(topup, 'Copy command')}</section></div>`
}
