/**
 * Pays for credits with a wallet in the browser (EIP-1193): one signature (EIP-3009 by EIP-712),
 * sent as an x402 payment. The wallet never sends a transaction, and nothing is signed twice.
 */
const section = document.querySelector('#pay')
const button = section.querySelector('button')
const status = section.querySelector('[role=status]')
const { amount, keyId, purchaseId, chainId, asset, payTo, genesis } = section.dataset
const network = `eip155:${chainId}`
const POLL_MS = 2_000
const POLLS = 90
const LIFETIME_SECONDS = 300
const DECLINED = 4001

/** What is to be told to whoever pays; everything else is a fault of the page. */
class Stop extends Error {}

const tell = (text, kind = '') => {
  status.textContent = text
  status.className = kind
}

const ask = (method, params = []) => globalThis.ethereum.request({ method, params })

async function connect() {
  if (!globalThis.ethereum) {
    throw new Stop('No wallet was found in this browser. Open this page where your wallet is.')
  }
  tell('Waiting for the wallet.', 'busy')
  const [from] = await ask('eth_requestAccounts')
  const wanted = `0x${Number(chainId).toString(16)}`
  if (Number(await ask('eth_chainId')) !== Number(chainId)) {
    await ask('wallet_switchEthereumChain', [{ chainId: wanted }]).catch(() => undefined)
    if (Number(await ask('eth_chainId')) !== Number(chainId)) {
      throw new Stop(`The wallet is on another chain. Choose Base (chain id ${chainId}).`)
    }
  }
  if (genesis) await assertTestChain()
  return from
}

/** What is signed for a sandbox would be good on the real chain as well. */
async function assertTestChain() {
  const block = await ask('eth_getBlockByNumber', ['0x0', false]).catch(() => null)
  if (block?.hash !== genesis) {
    throw new Stop(
      'This hub is a sandbox, and the wallet is on the real chain: nothing is signed. ' +
        'Use the command line, or a wallet of the sandbox.',
    )
  }
}

const send = (headers = {}) =>
  fetch('/v1/topups', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({
      key_id: keyId,
      amount_microdollars: Number(amount),
      purchase_id: purchaseId,
    }),
  })

/** The offer of the hub, if it is exactly what the page says. */
function termsOf(offer) {
  const [accepted] = offer.accepts ?? []
  const isOurs =
    accepted?.scheme === 'exact' &&
    accepted.network === network &&
    accepted.asset.toLowerCase() === asset.toLowerCase() &&
    accepted.payTo.toLowerCase() === payTo.toLowerCase() &&
    String(accepted.amount) === amount
  if (!isOurs) throw new Stop('The offer is not what this page says. Nothing was signed.')
  return accepted
}

async function assertFunds(from) {
  const data = `0x70a08231${from.slice(2).toLowerCase().padStart(64, '0')}` // balanceOf(address)
  const held = BigInt(await ask('eth_call', [{ to: asset, data }, 'latest']))
  if (held < BigInt(amount)) {
    const has = (Number(held) / 1e6).toFixed(2)
    throw new Stop(`The wallet has ${has} USDC on Base, which is too little. Nothing was signed.`)
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
  const typed = {
    types: { EIP712Domain: DOMAIN, TransferWithAuthorization: FIELDS },
    primaryType: 'TransferWithAuthorization',
    domain: { ...accepted.extra, chainId: Number(chainId), verifyingContract: asset },
    message: authorization,
  }
  tell('Confirm the signature in your wallet.', 'busy')
  const signature = await ask('eth_signTypedData_v4', [from, JSON.stringify(typed)])
  const payment = { x402Version: 2, resource, accepted, payload: { signature, authorization } }
  const bytes = new TextEncoder().encode(JSON.stringify(payment))
  return btoa(String.fromCharCode(...bytes))
}

/** Asks what became of it; whatever the network does, the payment is sent as it was signed. */
async function follow(payment) {
  for (let i = 0; i < POLLS; i += 1) {
    tell('Paying: waiting for the chain.', 'busy')
    const paying = i === 0 && payment ? { 'PAYMENT-SIGNATURE': payment } : {}
    const answer = await send(paying).catch(() => null)
    const body = await answer?.json().catch(() => null)
    if (answer?.status === 201) return body
    if (answer?.status === 402 && payment && i === 0) {
      throw new Stop(`The payment was refused (${body?.reason ?? body?.code}). Nothing was charged.`)
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Stop('The outcome is not known yet. Do not pay again: this page will know it later.')
}

async function pay() {
  const first = await send()
  if (first.status === 201 || first.status === 202) return follow(undefined)
  const offer = await first.json()
  if (first.status !== 402) throw new Stop(offer.detail ?? 'The hub could not be asked.')
  const from = await connect()
  const accepted = termsOf(offer)
  await assertFunds(from)
  return follow(await sign(from, accepted, offer.resource))
}

function failed(error) {
  if (error instanceof Stop) return tell(error.message, 'bad')
  if (error?.code === DECLINED) return tell('You declined. Nothing was paid.', 'fair')
  tell('The wallet could not do this. Nothing was paid.', 'bad')
}

/** In place of the button: to the key, where it is of whoever pays. */
function goOn() {
  const next = section.querySelector('a[hidden]')
  if (!next) return
  next.hidden = false
  button.remove()
  next.focus()
}

async function payOnce() {
  if (button.ariaDisabled === 'true') return
  button.ariaDisabled = 'true' // unlike a disabled one it keeps the focus
  try {
    const body = await pay()
    tell(`Credited. Transaction ${body.transaction ?? 'is being looked up'}.`, 'good')
    section.dataset.state = 'credited'
    goOn()
  } catch (error) {
    failed(error)
    button.ariaDisabled = 'false'
  }
}

button.addEventListener('click', () => void payOnce())
button.hidden = false
