/**
 * Wallets of this browser: those that announce themselves (EIP-6963), else `ethereum` (EIP-1193).
 * If several are announced, the user selects one.
 */
const choice = document.querySelector('[data-wallets]')
const select = choice?.querySelector('select')
const announced = new Map()

function addWallet({ detail: { info, provider } }) {
  if (announced.has(info.uuid)) return
  announced.set(info.uuid, provider)
  select?.add(new Option(info.name))
  if (choice) choice.hidden = announced.size < 2
}

/** Returns the selected wallet; undefined if this browser has none. */
export const findWallet = () =>
  announced.size === 0
    ? globalThis.ethereum
    : [...announced.values()][Math.max(0, select?.selectedIndex ?? 0)]

export const callWallet = (method, params = []) => findWallet().request({ method, params })

globalThis.addEventListener('eip6963:announceProvider', addWallet)
globalThis.dispatchEvent(new Event('eip6963:requestProvider'))
