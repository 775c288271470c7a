import { callWallet, findWallet } from './wallets.js'

/**
 * Fills in forms with the browser's wallet (EIP-1193): its address, or its signature of a message
 * (`personal_sign`). The forms also work without it.
 */
const section = document.querySelector('[data-wallet]')
const DECLINED = 4001

const showStatus = (text, kind) => {
  const status = section.querySelector('[role=status]')
  status.textContent = text
  status.className = kind
}

function fillIn(name, value) {
  const field = document.querySelector(`main form [name=${name}]`)
  field.value = value
  field.form.requestSubmit()
}

async function fillAddress() {
  const [address] = await callWallet('eth_requestAccounts')
  fillIn('wallet_address', address)
}

async function fillSignature() {
  const { address, message } = section.dataset
  const accounts = await callWallet('eth_requestAccounts')
  if (!accounts.some((account) => account.toLowerCase() === address)) {
    return showStatus(`Select ${address} in your wallet, then try again.`, 'bad')
  }
  const bytes = [...new TextEncoder().encode(message)]
  const hex = `0x${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
  fillIn('signature', await callWallet('personal_sign', [hex, address]))
}

async function useWallet() {
  if (!findWallet()) return showStatus('No wallet found in this browser.', 'bad')
  showStatus('Waiting for your wallet…', 'busy')
  try {
    await (section.dataset.wallet === 'sign' ? fillSignature() : fillAddress())
  } catch (error) {
    const isDeclined = error?.code === DECLINED
    const text = isDeclined ? 'You declined. Nothing was changed.' : 'Your wallet failed.'
    showStatus(text, 'bad')
  }
}

if (section) {
  section.hidden = false
  section.querySelector('button').addEventListener('click', () => void useWallet())
}
