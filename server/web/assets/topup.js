import { callWallet, findWallet } from './wallets.js'

/**
 * Pays for credits with the browser's wallet (EIP-1193): one signature (EIP-3009 via EIP-712), sent
 * as an x402 payment. The wallet sends no transaction and signs only once.
 */
const section = document.querySelector('#pay')
const button = section.querySelector('button')
const status = section.querySelector('[role=status]')
const { amount, keyId, purchaseId, chainId, asset, payTo, genesis } = section.dataset
const network = `eip155:${chainId}`
const POLL_MS = 2_000
const MAX_POLLS = 90
const LIFETIME_SECONDS = 300
const DECLINED = 4001

/** Error whose message is shown to the payer. */
class PaymentError extends Error {}

const showStatus = (text, kind = '') => {
  status.textContent = text
  status.className = kind
}

async function connect() {
  if (!findWallet()) {
    throw new PaymentError('No wallet found in this browser. Open this page where your wallet is.')
  }
  showStatus('Waiting for your wallet…', 'busy')
  const [from] = await callWallet('eth_requestAccounts')
  const target = `0x${Number(chainId).toString(16)}`
  if (Number(await callWallet('eth_chainId')) !== Number(chainId)) {
    await callWallet('wallet_switchEthereumChain', [{ chainId: target }]).catch(() => undefined)
    if (Number(await callWallet('eth_chainId')) !== Number(chainId)) {
      throw new PaymentError(`Your wallet is on another chain. Switch to Base (chain ${chainId}).`)
    }
  }
  if (genesis) await assertTestChain()
  return from
}

/** A signature made for a sandbox would be valid on the real chain, too. */
async function assertTestChain() {
  const block = await callWallet('eth_getBlockByNumber', ['earliest', false]).catch(() => null)
  if (block?.hash !== genesis) {
    throw new PaymentError(
      'This hub is a sandbox, but your wallet is on the real chain. Nothing was signed. ' +
        'Use the command line or a sandbox wallet.',
    )
  }
}

const postTopup = (headers = {}) =>
  fetch('/v1/topups', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({
      key_id: keyId,
      amount_microdollars: Number(amount),
      purchase_id: purchaseId,
    }),
  })

function decodeOffer(header) {
  const bytes = Uint8Array.from(atob(header), (character) => character.codePointAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}

/** Returns the payment terms of the hub's offer if they match this page. */
function matchingTerms(offer) {
  const [accepted] = offer.accepts ?? []
  const matches =
    accepted?.scheme === 'exact' &&
    accepted.network === network &&
    accepted.asset.toLowerCase() === asset.toLowerCase() &&
    accepted.payTo.toLowerCase() === payTo.toLowerCase() &&
    String(accepted.amount) === amount
  if (!matches) throw new PaymentError('The offer does not match this page. Nothing was signed.')
  return accepted
}

async function assertFunds(from) {
  const data = `0x70a08231${from.slice(2).toLowerCase().padStart(64, '0')}` // balanceOf(address)
  const balance = BigInt(await callWallet('eth_call', [{ to: asset, data }, 'latest']))
  if (balance < BigInt(amount)) {
    const shown = (Number(balance) / 1e6).toFixed(2)
    throw new PaymentError(`Your wallet has only ${shown} USDC on Base. Nothing was signed.`)
  }
}

const FIELDS = [
  ['from', 'address'],
  ['to', 'address'],
  ['value', 'uint256'],
  ['validAfter', 'uint256'],
  ['validBefore', 'uint256'],
  ['nonce', 'bytes32'],
].map(([name, type]) => ({ name, type }))
const DOMAIN = [
  ['name', 'string'],
  ['version', 'string'],
  ['chainId', 'uint256'],
  ['verifyingContract', 'address'],
].map(([name, type]) => ({ name, type }))

async function sign(from, accepted, resource) {
  const random = crypto.getRandomValues(new Uint8Array(32))
  const lifetime = Math.min(accepted.maxTimeoutSeconds, LIFETIME_SECONDS)
  const authorization = {
    from,
    to: accepted.payTo,
    value: amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1_000) + lifetime),
    nonce: `0x${Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')}`,
  }
  const typedData = {
    types: { EIP712Domain: DOMAIN, TransferWithAuthorization: FIELDS },
    primaryType: 'TransferWithAuthorization',
    domain: { ...accepted.extra, chainId: Number(chainId), verifyingContract: asset },
    message: authorization,
  }
  showStatus('Confirm the signature in your wallet…', 'busy')
  const signature = await callWallet('eth_signTypedData_v4', [from, JSON.stringify(typedData)])
  const payment = { x402Version: 2, resource, accepted, payload: { signature, authorization } }
  const bytes = new TextEncoder().encode(JSON.stringify(payment))
  return btoa(String.fromCharCode(...bytes))
}

/** Sends the payment, then polls for its result. Network errors count as no response yet. */
async function settle(payment) {
  for (let i = 0; i < MAX_POLLS; i += 1) {
    showStatus('Waiting for the blockchain…', 'busy')
    const headers = i === 0 && payment ? { 'PAYMENT-SIGNATURE': payment } : {}
    const response = await postTopup(headers).catch(() => null)
    const body = await response?.json().catch(() => null)
    if (response?.status === 201) return body
    if (response?.status === 402 && payment && i === 0) {
      const reason = body?.reason ?? body?.code
      throw new PaymentError(`The payment was rejected (${reason}). You were not charged.`)
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new PaymentError('The payment is pending. Do not pay again: reload this page later.')
}

async function pay() {
  const first = await postTopup()
  if (first.status === 201 || first.status === 202) return settle(undefined)
  if (first.status !== 402) {
    const { detail } = await first.json()
    throw new PaymentError(detail ?? 'The hub could not be reached.')
  }
  const offer = decodeOffer(first.headers.get('PAYMENT-REQUIRED'))
  const from = await connect()
  const accepted = matchingTerms(offer)
  await assertFunds(from)
  return settle(await sign(from, accepted, offer.resource))
}

function showError(error) {
  if (error instanceof PaymentError) return showStatus(error.message, 'bad')
  if (error?.code === DECLINED) return showStatus('You declined. Nothing was paid.', 'fair')
  showStatus('Your wallet reported an error. Nothing was paid.', 'bad')
}

/** Shows the receipt: the page knows the purchase by its address. */
const showReceipt = () => globalThis.location.reload()

async function payOnce() {
  if (button.ariaDisabled === 'true') return
  button.ariaDisabled = 'true' // unlike `disabled`, keeps the focus
  try {
    await pay()
    showReceipt()
  } catch (error) {
    showError(error)
    button.ariaDisabled = 'false'
  }
}

if (button) {
  button.addEventListener('click', () => void payOnce())
  button.hidden = false
} else settle(undefined).then(showReceipt, showError)
