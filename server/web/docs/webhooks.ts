import { EVENTS, TEST_EVENT } from '../../../core/webhooks/events.ts'
import { html } from '../html.ts'
import { cardTable } from '../table.ts'
import { code, docsPage, onOwnMachine } from './html.ts'

/** Runs as it stands, in Node: a test takes it from the page. */
const CHECK = `import { createHmac, timingSafeEqual } from 'node:crypto'

/** headers: in lower case; body: the text exactly as it came, before any parsing */
export function isFromHub(secret, headers, body) {
  const id = headers['webhook-id'] ?? ''
  const time = headers['webhook-timestamp'] ?? ''
  const signatures = (headers['webhook-signature'] ?? '').split(' ')
  if (!(Math.abs(Date.now() / 1000 - Number(time)) < 300)) return false // it is an old one
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const mac = createHmac('sha256', key).update(\`\${id}.\${time}.\${body}\`).digest('base64')
  const due = Buffer.from(\`v1,\${mac}\`)
  return signatures.some((each) => {
    const sent = Buffer.from(each)
    return sent.length === due.length && timingSafeEqual(sent, due)
  })
}`

const BODY = `POST /hub-events
content-type: application/json
webhook-id: evt_…
webhook-timestamp: 1795330800
webhook-signature: v1,K5oZ…=

{"type":"${TEST_EVENT}","timestamp":"2026-11-22T07:00:00.000Z","data":{…}}`

/** `/docs/webhooks`: what a webhook is sent, and how it is checked. */
export const webhooksGuide = ({ sandbox }: { readonly sandbox: boolean }) =>
  docsPage(
    'Guide for webhooks',
    'Webhooks',
    html`<p class="lead">What happens to your keys, money and listings is told to your own server,
at once. <a href="/account/webhooks">Your account</a> adds a webhook, or <a
href="/docs/reference/webhooks">REST</a>.</p>
<h2>What comes</h2>${code(BODY)}${cardTable(
      'Events',
      [
        { head: 'Type', cell: ([type]) => html`<code>${type}</code>` },
        { head: 'What happened', cell: ([, meaning]) => meaning },
      ],
      Object.entries(EVENTS),
    )}
<h2>Check the signature</h2><p>Anybody can send to your address: take only what is signed. Messages
follow <a href="https://www.standardwebhooks.com">Standard Webhooks</a>, so that its libraries check
them, with the secret that was shown when the webhook was added. In Node, without any:</p>${code(
      CHECK,
    )}<p>While a new secret replaces an old one, both sign for a day: one of the signatures has to
fit.</p>
<h2>Answer</h2><p>Any 2xx within ten seconds takes it. Whatever else comes, it is sent again: after
5 seconds, 20, 80 and so on, up to six hours apart, for a day. So the same event may come twice,
with the same <code>webhook-id</code>, and a later one before it. <code>410</code> turns the webhook
off; so do three days without a single success.</p>${sandbox && onOwnMachine('/hub-events')}`,
  )
