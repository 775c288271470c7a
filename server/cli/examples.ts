import type { Command } from 'commander'

/** Examples shown in the help of each command, ready to paste. */
const EXAMPLES: Readonly<Record<string, readonly (readonly [line: string, what: string])[]>> = {
  '': [
    ['register', 'create a wallet and get a key'],
    ['topup 5', 'buy 5 dollars of credits with USDC on Base'],
    ['search translate text', 'find services by what they do'],
    [`call analysis/sentiment -d '{"text":"Lovely staff."}'`, ''],
    ['call https://api.example/weather', 'call an external x402 API'],
    ['install claude-code', 'add the hub to your AI assistant'],
  ],
  register: [
    ['register', 'with a new wallet, readable only by you'],
    ['register --keystore ~/.ethereum/keystore/UTC--…', 'with an existing wallet'],
    ['register --new', 'another key; `hub keys use KEY-ID` returns to an earlier one'],
  ],
  topup: [
    ['topup 5', 'asks, signs and waits for settlement'],
    ['topup 20 --yes --purchase-id november', 'for scripts: purchased once, even if repeated'],
  ],
  search: [
    ['search extract entities --max-price 0.01', ''],
    ['search weather --external --json', 'external x402 APIs, as JSON'],
  ],
  call: [
    [`call analysis/sentiment -d '{"text":"Lovely staff."}'`, ''],
    ['call analysis/sentiment -d @review.json --max-price 0.01', ''],
    ['call tenders/v1/feed -q country=DEU -q limit=5 --dry-run', 'show the price only'],
    ['call https://api.example/weather -q city=Oslo --max-price 0.02', 'an external x402 API'],
    ['call weather', 'a saved tool'],
  ],
  add: [['add https://api.example/weather --name weather', 'then: hub call weather']],
  keys: [
    ['keys list', 'stored keys, which is in use, and their sub-keys'],
    ['keys use KEY-ID', 'commands use this stored key from now on'],
    ['keys create --name shop --max-day 1 --services analysis', 'a sub-key with limits'],
  ],
  receipts: [
    ['receipts list', 'charged calls, newest first'],
    ['receipts verify CALL-ID', "with the hub's public keys, on this machine"],
    [
      'receipts prove CALL-ID > call.json',
      'proof that the ledger has the call; then: receipts verify call.json',
    ],
    ['receipts compare call.json', 'later: check that the ledger was not rewritten'],
  ],
  install: [
    ['install', 'all assistants on this machine'],
    ['install claude-code codex --dry-run', 'show the changes to their files'],
    ['install --remove', 'restores their files byte for byte'],
  ],
  completion: [['completion zsh', 'eval "$(hub completion zsh)" enables it']],
}

/** Formats the examples of a command; empty if it has none. */
export function formatExamples(command: Command): string {
  const known = EXAMPLES[command.parent ? command.name() : '']
  if (!known || command.parent?.parent) return ''
  const width = Math.max(...known.map(([line, what]) => (what === '' ? 0 : line.length)))
  const lines = known.map(([line, what]) => `  $ hub ${line.padEnd(width)}  ${what}`.trimEnd())
  return `Examples:\n${lines.join('\n')}\n`
}
