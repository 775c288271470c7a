/**
 * Lets the wallet of the browser (EIP-1193) fill in a form that works without it: its address, or
 * its signature of a message (personal_sign).
 */
const section = document.querySelector('[data-wallet]')
const DECLINED = 4001

const tell = (text, kind) => {
  const status = section.querySelector('[role=status]')
  status.textContent = text
  status.className = kind
}

const ask = (method, params = []) => globalThis.ethereum.request({ method, params })

function fillIn(name, value) {
  const field = document.querySelector(`main form [name=${name}]`)
  field.value = value
  field.form.requestSubmit()
}

async function connect() {
  const [address] = await ask('eth_requestAccounts')
  fillIn('wallet_address', address)
}

async function sign() {
  const { address, message } = section.dataset
  const accounts = await ask('eth_requestAccounts')
  if (!accounts.some((account) => account.toLowerCase() === address)) {
    return tell(`The wallet does not offer ${address}. Choose it there.`, 'bad')
  }
  const bytes = [...new TextEncoder().encode(message)]
  const hex = `0x${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
  fillIn('signature', await ask('personal_sign', [hex, address]))
}

async function use() {
  if (!globalThis.ethereum) return tell('No wallet was found in this browser.', 'bad')
  tell('Waiting for the wallet.', 'busy')
  try {
    await (section.dataset.wallet === 'sign' ? sign() : connect())
  } catch (error) {
    const declined = error?.code === DECLINED
    tell(declined ? 'You declined. Nothing was changed.' : 'The wallet could not do this.', 'bad')
  }
}

if (section) {
  section.hidden = false
  section.querySelector('button').addEventListener('click', () => void use())
}
