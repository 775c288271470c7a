import { z } from 'zod'
import { nonce } from '../rest/account/registration.ts'
import { form, formFields } from './form.ts'
import { type Html, html } from './html.ts'
import { type FormAction, formAction, type Submission } from './page.ts'
import { withQuery } from './table.ts'

/**
 * Signature of a message by a wallet, in two forms that work without scripts: address, then
 * signature. With scripts the browser's wallet fills in both (`assets/wallet.js`).
 */

/** Action of the first form: requests a challenge for the address of a wallet. */
export const challengeAction = (path: string, challengeRoute: string): FormAction =>
  formAction({
    fields: z.object({ wallet_address: z.string().trim() }),
    run: async ({ api }, body) => {
      const challenge = await api<{ nonce: string }>(challengeRoute, { body })
      return { to: `${withQuery(path, { nonce: challenge.nonce })}#sign` }
    },
  })

/** Actions of both forms: requests a challenge for an address, then posts its signature. */
export const signatureActions = (
  path: string,
  challengeRoute: string,
  signatureRoute: string,
  done: string,
): Readonly<Record<'ask' | 'sign', FormAction>> => ({
  ask: challengeAction(path, challengeRoute),
  sign: formAction({
    fields: z.object({ nonce, signature: z.string().trim() }),
    run: async ({ api }, body) => {
      await api(signatureRoute, { body })
      return { to: withQuery(path, { done }) }
    },
  }),
})

/** Field for one of several wallets; `assets/wallets.js` fills it in and shows it. */
export const walletChoice = (): Html =>
  html`<p data-wallets hidden><label for="wallet">Wallet</label> <select id="wallet"></select></p>`

/** First form. @param act name of its action */
export const walletAddressForm = (submission: Submission | undefined, act = 'ask'): Html =>
  html`<div data-wallet="connect" hidden>${walletChoice()}<p><button type="button">
Connect browser wallet</button></p><p role="status" aria-live="polite"></p></div>${form({
    act,
    submit: 'Show message',
    kind: 'plain',
    fields: [
      formFields(act, submission).text({
        name: 'wallet_address',
        label: 'Wallet address',
        required: true,
        max: 42,
        placeholder: '0x…',
        hint: 'For a wallet elsewhere: sign the message with it and paste the signature.',
      }),
    ],
  })}`

export interface SigningRequest {
  readonly wallet: string
  readonly message: string
  readonly nonce: string
  /** Text of the button. */
  readonly submit: string
  /** Name of the action. @defaultValue sign */
  readonly act?: string
}

/** Second form, with the action `sign`. */
export const signatureForm = (
  { wallet, message, nonce, submit, act = 'sign' }: SigningRequest,
  submission: Submission | undefined,
): Html =>
  html`<h2 id="sign">Sign this message</h2>
<p>Sign this exact text with <code>${wallet}</code> (<code>personal_sign</code>):</p>
<pre tabindex="0"><code>${message}</code></pre>
<div data-wallet="sign" data-address="${wallet}" data-message="${message}" hidden>
${walletChoice()}<p><button type="button">Sign with browser wallet</button></p>
<p role="status" aria-live="polite"></p></div>${form({
    act,
    submit,
    kind: 'plain',
    hidden: { nonce },
    fields: [
      formFields(act, submission).text({
        name: 'signature',
        label: 'Signature',
        required: true,
        lines: 3,
        placeholder: '0x…',
      }),
    ],
  })}`
