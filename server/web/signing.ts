import { fieldsOf, form } from './form.ts'
import { type Html, html } from './html.ts'
import type { Sent } from './page.ts'

/**
 * A wallet signs a message, in two steps that work without scripts: its address, then the
 * signature. With scripts the wallet of the browser fills in both (`assets/wallet.js`).
 */

/** Asks for the address; the form does `ask`. */
export const askWallet = (sent: Sent | undefined): Html =>
  html`<div data-wallet="connect" hidden><p><button type="button">
Use the wallet of this browser</button></p><p role="status" aria-live="polite"></p></div>${form({
    act: 'ask',
    submit: 'Show the message to sign',
    kind: 'plain',
    fields: [
      fieldsOf('ask', sent).text({
        name: 'wallet_address',
        label: 'Address of the wallet',
        required: true,
        max: 42,
        placeholder: '0x…',
      }),
    ],
  })}`

export interface ToSign {
  readonly wallet: string
  readonly message: string
  readonly nonce: string
  /** What the button says. */
  readonly submit: string
}

/** Shows the message, and takes the signature; the form does `sign`. */
export const signMessage = (
  { wallet, message, nonce, submit }: ToSign,
  sent: Sent | undefined,
): Html =>
  html`<h2 id="sign">Sign this message</h2>
<p>With <code>${wallet}</code>, by <code>personal_sign</code>, exactly as it stands:</p>
<pre tabindex="0"><code>${message}</code></pre>
<div data-wallet="sign" data-address="${wallet}" data-message="${message}" hidden>
<p><button type="button">Sign with the wallet of this browser</button></p>
<p role="status" aria-live="polite"></p></div>${form({
    act: 'sign',
    submit,
    kind: 'plain',
    hidden: { nonce },
    fields: [
      fieldsOf('sign', sent).text({
        name: 'signature',
        label: 'Signature',
        required: true,
        lines: 3,
        placeholder: '0x…',
      }),
    ],
  })}`
