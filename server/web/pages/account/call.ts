import { z } from 'zod'
import { Fault } from '../../../../core/errors.ts'
import { creditsOfKey } from '../../../../core/identity/children.ts'
import { type KeyOfCall, keyOfCall } from '../../../../core/usage/call-keys.ts'
import { type CallJson, type CallPorts, readCall } from '../../../rest/account/calls.ts'
import { ACCOUNT } from '../../areas.ts'
import { instantText, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type AnyPage, type PageRequest, page, personOn } from '../../page.ts'
import { address, facts } from '../../table.ts'

/** Left out: the key is looked for among those of the account. */
const Query = z.object({ key: z.string().max(40).default('') })
type Request = PageRequest<z.infer<typeof Query>>

/** `/account/calls/{id}`: one call, and its receipt, to look at and to keep. */
export const callPages = (ports: CallPorts): readonly AnyPage[] => [
  page({
    path: '/account/calls/{id}',
    person: true,
    query: Query,
    show: async (request) => {
      const { call, key } = await callOf(ports, request)
      return {
        title: 'Call',
        area: ACCOUNT,
        tab: 'History',
        main: html`<p class="crumbs"><a href="${address('/account/history', { key })}">
History</a></p><h1>Call ${badge(call)}</h1>${about(call)}${payment(call)}${receipt(call, key)}`,
      }
    },
  }),
  page({
    path: '/account/calls/{id}/receipt',
    person: true,
    query: Query,
    show: async (request) => {
      const {
        call: { id, receipt },
        key,
      } = await callOf(ports, request)
      if (receipt === null) return { to: address(`/account/calls/${id}`, { key }) }
      return { file: `receipt-${id}.jws`, type: 'application/jose', text: `${receipt}\n` }
    },
  }),
]

/** @throws Fault `not_found` for a key, or a call, of somebody else */
async function callOf(ports: CallPorts, request: Request) {
  const { id = '' } = request.params
  const { keyId, credits } = await keyOn(ports, request, id)
  return { call: await readCall(ports, { keyId, credits: { id: credits } }, id), key: keyId }
}

async function keyOn({ pool, calls }: CallPorts, request: Request, id: string): Promise<KeyOfCall> {
  const { principals } = personOn(request)
  const { key: keyId } = request.query
  if (keyId !== '') return { keyId, credits: await creditsOfKey(pool, principals, keyId) }
  await calls.flush() // what this process has just answered
  const found = z.uuid().safeParse(id).success && (await keyOfCall(pool, principals, id))
  if (!found) throw new Fault('not_found', 'No key of yours has made such a call.')
  return found
}

const GRADES = { charged: 'good', held: '', released: 'fair', expired: 'fair', refunded: 'fair' }

const badge = ({ state }: CallJson): Html =>
  html`<span class="badge ${GRADES[state]}">${state}</span>`

const about = (call: CallJson): Html =>
  facts({
    'Call id': html`<code>${call.id}</code>`,
    When: instantText(call.at),
    Endpoint: call.endpoint !== null && html`<code>${call.endpoint}</code>`,
    Status: call.status,
    Charged: money(call.charged_microdollars),
    Held: call.state === 'held' && money(call.reserved_microdollars),
    'Paid from': call.source,
    'Version of the price': call.price_version,
    'Why it failed': call.reason ?? undefined,
  })

const payment = ({ payment }: CallJson): Html | undefined =>
  payment === null
    ? undefined
    : html`<h2>Payment to the seller</h2>${facts({
        Address: html`<code>${payment.url}</code>`,
        State: payment.state,
        Amount: money(payment.amount_microdollars),
        'Paid to': html`<code>${payment.pay_to}</code>`,
        Transaction: payment.transaction !== null && html`<code>${payment.transaction}</code>`,
        Reason: payment.reason ?? undefined,
      })}`

/** What it states, readable, and the text that proves it. */
const receipt = (call: CallJson, key: string): Html => {
  if (call.receipt === null) {
    return html`<h2>Receipt</h2><p>There is one when the call is over.</p>`
  }
  const [, claims = ''] = call.receipt.split('.')
  const read: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString())
  return html`<h2>Receipt</h2><p>Signed by this hub (JWS, Ed25519). Anybody can check it by
<a href="/.well-known/jwks.json">its keys</a>, or by <code>POST /v1/receipts/verify</code>.</p>
<p><a class="button" href="${address(`/account/calls/${call.id}/receipt`, { key })}">
Download the receipt</a></p><details><summary>What it states</summary>
<pre tabindex="0"><code>${JSON.stringify(read, null, 2)}</code></pre></details>
<details><summary>The receipt itself</summary>
<pre tabindex="0"><code>${call.receipt}</code></pre></details>`
}
