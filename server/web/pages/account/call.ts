import { z } from 'zod'
import { Fault } from '../../../../core/errors.ts'
import { findCreditsAccount } from '../../../../core/identity/sub-keys.ts'
import { findShard } from '../../../../core/ledger/account-balances.ts'
import { findCallKey } from '../../../../core/usage/call-records.ts'
import type { CallKey } from '../../../rest/account/call-row.ts'
import { type CallDeps, type CallJson, readCall } from '../../../rest/account/calls.ts'
import { documentPath } from '../../documents-table.ts'
import { formatDollars, formatTime, usageText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, type PageRequest, page, requireSession } from '../../page.ts'
import { definitionList, shortHash, withQuery } from '../../table.ts'

/** Key of the call. If empty, all keys of the account are searched. */
const Query = z.object({ key: z.string().max(40).default('') })
type Request = PageRequest<z.infer<typeof Query>>

/** `/account/calls/{id}`: one call, and the download of its receipt. */
export const callPages = (deps: CallDeps): readonly AnyPage[] => [
  page('/account/calls/{id}', {
    query: Query,
    render: async (request) => {
      const { call, key } = await callOf(deps, request)
      return {
        title: 'Call',
        tabs: ACCOUNT_TABS,
        tab: 'Calls',
        main: html`<p class="breadcrumb"><a href="/account/calls">Calls</a></p>
<h1>Call ${badge(call)}</h1>${[
          about(call),
          documentsPart(call),
          paymentPart(call),
          receiptPart(call, key),
        ]}`,
      }
    },
  }),
  page('/account/calls/{id}/receipt', {
    query: Query,
    render: async (request) => {
      const {
        call: { id, receipt },
        key,
      } = await callOf(deps, request)
      if (receipt === null) return { to: withQuery(`/account/calls/${id}`, { key }) }
      return { file: `receipt-${id}.jws`, type: 'application/jose', text: `${receipt}\n` }
    },
  }),
]

/** @throws Fault `not_found` for keys and calls of other accounts */
async function callOf(deps: CallDeps, request: Request) {
  const { id = '' } = request.params
  const key = await keyOn(deps, request, id)
  return { call: await readCall(deps, key, id), key: key.keyId }
}

async function keyOn({ pool, calls }: CallDeps, request: Request, id: string): Promise<CallKey> {
  const { principals } = requireSession(request)
  const { key: keyId } = request.query
  if (keyId !== '') return { keyId, credits: await findCreditsAccount(pool, principals, keyId) }
  await calls.flush() // calls that this process has just recorded
  const owner = z.uuid().safeParse(id).success && (await findCallKey(pool, principals, id))
  if (!owner) throw new Fault('not_found', 'None of your keys made a call with this id.')
  const { credits, ...key } = owner
  return { ...key, credits: { id: credits, shard: await findShard(pool, credits) } }
}

const BADGES = { charged: 'good', held: '', released: 'fair', expired: 'fair', refunded: 'fair' }

const badge = ({ state }: CallJson): Html =>
  html`<span class="badge ${BADGES[state]}">${state}</span>`

const about = (call: CallJson): Html =>
  definitionList({
    'Call id': html`<code>${call.id}</code>`,
    Time: formatTime(call.at),
    Endpoint: call.endpoint !== null && html`<code>${call.endpoint}</code>`,
    'Signed by': call.agent ?? undefined,
    Status: call.status,
    Usage: call.usage && usageText(call.usage),
    Charged: formatDollars(call.charged_microdollars),
    Refunded: call.refunded_microdollars > 0 && formatDollars(call.refunded_microdollars),
    Reserved: call.state === 'held' && formatDollars(call.reserved_microdollars),
    'Paid from': call.source,
    'Price version': call.price_version,
    'Failure reason': call.reason ?? undefined,
  })

/** Links to the receipt and credit note with legal names. */
const documentsPart = (call: CallJson): Html | undefined =>
  call.charged_microdollars + call.refunded_microdollars === 0
    ? undefined
    : html`<p><a href="${documentPath('call', call.id)}">Receipt with billing details</a>${
        call.refunded_microdollars > 0 &&
        html` · <a href="${documentPath('credit-note', call.id)}">Credit note</a>`
      }</p>`

const paymentPart = ({ payment }: CallJson): Html | undefined =>
  payment === null
    ? undefined
    : html`<h2>Payment to the seller</h2>${definitionList({
        Address: html`<code>${payment.url}</code>`,
        State: payment.state,
        Amount: formatDollars(payment.amount_microdollars),
        'Paid to': html`<code>${payment.pay_to}</code>`,
        Transaction: payment.transaction !== null && shortHash(payment.transaction),
        Reason: payment.reason ?? undefined,
      })}`

/** Claims of the receipt in readable form, and the signed receipt. */
const receiptPart = (call: CallJson, key: string): Html => {
  if (call.receipt === null) {
    return html`<h2>Receipt</h2><p>Available when the call has finished.</p>`
  }
  const [, claims = ''] = call.receipt.split('.')
  const decoded: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString())
  return html`<h2>Receipt</h2><p>Signed by this hub (JWS, Ed25519). Anyone can verify it with
<a href="/.well-known/jwks.json">its public keys</a> or <code>POST /v1/receipts/verify</code>.</p>
<p><a class="button" href="${withQuery(`/account/calls/${call.id}/receipt`, { key })}">
Download receipt</a></p><details><summary>Content</summary>
<pre tabindex="0"><code>${JSON.stringify(decoded, null, 2)}</code></pre></details>
<details><summary>Signed receipt</summary>
<pre tabindex="0"><code>${call.receipt}</code></pre></details>`
}
