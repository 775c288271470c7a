import type { Command } from 'commander'

/** What help shows first: what most people want of a command, ready to be pasted. */
const EXAMPLES: Readonly<Record<string, readonly (readonly [line: string, what: string])[]>> = {
  '': [
    ['register', 'make a wallet and get a key'],
    ['topup 5', 'buy 5 dollars of credits with USDC on Base'],
    ['search translate text', 'find services by what they do'],
    [`call analysis/sentiment -d '{"text":"Lovely staff."}'`, ''],
    ['call https://api.example/weather', "buy from somebody else's x402 API"],
    ['install claude-code', 'give your assistant all of it'],
  ],
  register: [
    ['register', 'a new wallet, kept for you alone'],
    ['register --keystore ~/.ethereum/keystore/UTC--…', 'a wallet that you have'],
  ],
  topup: [
    ['topup 5', 'asks, signs, and waits until it has settled'],
    ['topup 20 --yes --purchase-id november', 'for programs: bought once, however often run'],
  ],
  search: [
    ['search extract entities --max-price 0.01', ''],
    ['search weather --external --json', 'other people\u2019s x402 APIs, for programs'],
  ],
  call: [
    [`call analysis/sentiment -d '{"text":"Lovely staff."}'`, ''],
    ['call analysis/sentiment -d @review.json --max-price 0.01', ''],
    ['call tenders/v1/feed -q country=DEU -q limit=5 --dry-run', 'what it would cost'],
    ['call https://api.example/weather -q city=Oslo --max-price 0.02', 'an x402 API'],
    ['call weather', 'a tool that was added'],
  ],
  add: [['add https://api.example/weather --name weather', 'then: hub call weather']],
  keys: [['keys create --name shop --max-day 1 --services analysis', 'a key with limits']],
  receipts: [['receipts verify CALL-ID', 'by the public keys of the hub, on this machine']],
  install: [
    ['install', 'all assistants that are found here'],
    ['install claude-code codex --dry-run', 'what would change in their files'],
    ['install --remove', 'takes it out again, byte for byte'],
  ],
  completion: [['completion zsh', 'eval "$(hub completion zsh)" turns it on']],
}

/** The examples of a command, as text; nothing where its help says enough. */
export function examplesOf(command: Command): string {
  const known = EXAMPLES[command.parent ? command.name() : '']
  if (!known || command.parent?.parent) return ''
  const width = Math.max(...known.map(([line, what]) => (what === '' ? 0 : line.length)))
  const lines = known.map(([line, what]) => `  $ hub ${line.padEnd(width)}  ${what}`.trimEnd())
  return `Examples:\n${lines.join('\n')}\n`
}
