import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { usd } from '../../../core/money.ts'
import type { TestHub } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'

/** Requests a challenge for a wallet and posts its signature to the same REST path. */
export async function signFor(
  person: Person,
  wallet: PrivateKeyAccount,
  path: string,
  method = 'POST',
): Promise<void> {
  const request = { body: { wallet_address: wallet.address } }
  const { body } = await person.ask(`${path}/challenge`, request)
  const { nonce, message } = body
  const signature = await wallet.signMessage({ message: String(message) })
  const response = await person.ask(path, { method, body: { nonce, signature } })
  expect(response.status, response.text).to.be.within(200, 201)
}

/** Links a wallet with two keys to an account; the first key has $5. */
export async function linkTwoKeys(hub: TestHub, person: Person) {
  const account = privateKeyToAccount(generatePrivateKey())
  const client = new HubClient({ baseUrl: hub.url, wallet: { account, sandbox: true } })
  const { keyId: first, apiKey } = await client.register()
  const { keyId: second } = await client.register()
  await signFor(person, account, '/v1/account/wallets')
  await hub.credit(first, usd('5'))
  return { account, first, second, apiKey }
}
