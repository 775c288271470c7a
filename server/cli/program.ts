import { Command, Option } from 'commander'
import { assistants } from './assistants.ts'
import type { CommonFlags, Context } from './context.ts'
import { examplesOf } from './examples.ts'
import { pluginCommands } from './plugin/program.ts'

/** Runs a command with what it needs, which is loaded only now: help must be quick. */
export type Run = (
  work: (context: Context, flags: CommonFlags, ...args: never) => Promise<unknown>,
) => (...given: unknown[]) => Promise<void>

/** The whole command line. @param version of the package */
export function programOf(version: string, run: Run): Command {
  const program = new Command('hub')
    .description('Find APIs, pay for them per request, call them.')
    .version(version, '-V, --version', 'print the version')
    .option('--hub <url>', 'the hub to talk to (HUB_BASE_URL)')
    .option('--json', 'print one JSON object, money in microdollars')
    .addOption(
      new Option('--format <how>', 'json is the same as --json').choices(['pretty', 'json']),
    )
    .on('option:format', (how: string) => program.setOptionValue('json', how === 'json'))
    .option('-y, --yes', 'agree to what would be asked')
    .option('--no-color', 'no colours (NO_COLOR)')
    .helpOption('-h, --help', 'show help')
    .addHelpText('beforeAll', ({ command }) => examplesOf(command))
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .showHelpAfterError('(hub --help shows how it is used)')
  money(program, run)
  finding(program, run)
  calling(program, run)
  keys(program, run)
  wallet(program, run)
  assistants(program, run)
  pluginCommands(program, run)
  return program
}

const KEYSTORE = [
  '--keystore <file>',
  'a keystore of version 3, as geth and Foundry write it',
] as const

function money(program: Command, run: Run): void {
  program
    .command('register')
    .description('register a wallet, and keep the key that it gets')
    .option(...KEYSTORE)
    .option('--show-key', 'print the key')
    .action(
      run(async (context, flags: object) =>
        (await import('./commands/register.ts')).register(context, flags),
      ),
    )
  program
    .command('balance')
    .description('credits, free calls, limits, and what was spent this month')
    .action(run(async (context) => (await import('./commands/balance.ts')).balance(context)))
  program
    .command('topup')
    .argument('<dollars>', 'at least 5')
    .description('buy credits with USDC of the wallet, by one signature')
    .option(...KEYSTORE)
    .option('--purchase-id <name>', 'your name for it: bought once, however often it is run')
    .action(
      run(async (context, flags: object, dollars: string) =>
        (await import('./commands/topup.ts')).topup(context, dollars, flags),
      ),
    )
  program
    .command('history')
    .description('every movement of the credits, newest first')
    .option('--limit <n>', 'rows, 1 to 100', '20')
    .option('--cursor <cursor>', 'the next page')
    .action(
      run(async (context, flags: object) =>
        (await import('./commands/history.ts')).history(context, flags),
      ),
    )
  program
    .command('receipts')
    .description('receipts of calls')
    .command('verify')
    .argument('<receipt>', 'the value of X-Receipt, or the id of a call')
    .description('check a receipt against the public keys of the hub')
    .action(
      run(async (context, _: object, receipt: string) =>
        (await import('./commands/receipts.ts')).verifyReceipt(context, receipt),
      ),
    )
}

function finding(program: Command, run: Run): void {
  program
    .command('search')
    .argument('[words...]', 'what it should do; none: everything')
    .description('find services, best first')
    .option('--category <name>', 'of this category alone')
    .option('--max-price <usd>', 'with something at most so dear, such as 0.01')
    .option('--external', "other people's x402 APIs alone")
    .option('--native', 'services of the hub alone')
    .option('--limit <n>', 'hits, 1 to 100', '20')
    .option('--cursor <cursor>', 'the next page')
    .action(
      run(async (context, flags: object, words: readonly string[]) =>
        (await import('./commands/search.ts')).search(context, words, flags),
      ),
    )
  program
    .command('show')
    .argument('<slug>', 'such as analysis')
    .description('a service: what it does, its endpoints and prices')
    .action(
      run(async (context, _: object, slug: string) =>
        (await import('./commands/show.ts')).show(context, slug),
      ),
    )
}

function calling(program: Command, run: Run): void {
  program
    .command('call')
    .argument('<target>', 'slug/path, an address of an x402 API, or a tool that was added')
    .description('call it: free calls pay first, then credits; what fails is not charged')
    .option('-X, --method <method>', 'GET, POST, PUT, PATCH or DELETE')
    .option('-d, --data <data>', 'the body: JSON or text, @file, or - for standard input')
    .option('-q, --query <name=value>', 'a query parameter; may be repeated', gather)
    .option('-H, --header <line>', 'a header; may be repeated', gather)
    .option('--max-price <usd>', 'the most that it may cost (HUB_MAX_PRICE, else 0.10)')
    .option('--dry-run', 'say what it would cost and who would pay; call nothing')
    .option('--idempotency-key <name>', 'your name for this call: it is charged once')
    .option('--pay <how>', 'credits, x402 (from the wallet), or auto', 'auto')
    .option(...KEYSTORE)
    .option('-o, --output <file>', 'write the answer to a file')
    .option('-i, --include', 'print the headers of the answer too')
    .action(
      run(async (context, flags: object, target: string) =>
        (await import('./commands/call.ts')).callCommand(context, target, flags),
      ),
    )
  program
    .command('add')
    .argument('<target>', 'an address of an x402 API, or slug/path')
    .description('save it under a name: then `hub call NAME`')
    .option('--name <name>', 'lower-case letters, digits and hyphens')
    .option('-X, --method <method>', 'how it is called')
    .option('--description <text>', 'what it is for')
    .action(
      run(async (context, flags: object, target: string) =>
        (await import('./commands/tools.ts')).add(context, target, flags),
      ),
    )
  const tools = program
    .command('tools')
    .description('the tools that were added')
    .action(run(async (context) => (await import('./commands/tools.ts')).tools(context)))
  tools
    .command('forget')
    .argument('<name>')
    .description('forget one')
    .action(
      run(async (context, _: object, name: string) =>
        (await import('./commands/tools.ts')).forget(context, name),
      ),
    )
}

const gather = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
]

function keys(program: Command, run: Run): void {
  const group = program.command('keys').description('the key, and keys below it within limits')
  group
    .command('list')
    .description('this key and those below it')
    .action(run(async (context) => (await import('./commands/keys.ts')).listKeys(context)))
  group
    .command('create')
    .description('make a key below this one; it is shown once')
    .option('--name <name>')
    .option('--max-call <usd>', 'the most for one call')
    .option('--max-day <usd>', 'the most in a UTC day')
    .option('--max-total <usd>', 'the most in all its life')
    .option('--services <slugs>', 'these alone, separated by commas')
    .option('--expires <date>', 'such as 2027-01-31')
    .action(
      run(async (context, flags: object) =>
        (await import('./commands/keys.ts')).createKey(context, flags),
      ),
    )
  group
    .command('rotate')
    .argument('<key-id>')
    .description('give a key another secret')
    .option('--overlap <seconds>', 'how long the old one goes on')
    .action(
      run(async (context, flags: object, id: string) =>
        (await import('./commands/keys.ts')).rotateKey(context, id, flags),
      ),
    )
  group
    .command('revoke')
    .argument('<key-id>')
    .description('revoke a key and those below it, for good')
    .action(
      run(async (context, _: object, id: string) =>
        (await import('./commands/keys.ts')).revokeKey(context, id),
      ),
    )
}

function wallet(program: Command, run: Run): void {
  const group = program.command('wallet').description('the wallet that registers and pays')
  group
    .command('address')
    .description('print its address')
    .option(...KEYSTORE)
    .action(
      run(async (context, { keystore }: { keystore?: string }) =>
        (await import('./commands/wallet.ts')).walletAddress(context, keystore),
      ),
    )
  group
    .command('encrypt')
    .description('put its file under a password')
    .action(run(async (context) => (await import('./commands/wallet.ts')).walletEncrypt(context)))
  group
    .command('export')
    .description('show its private key, at a terminal')
    .action(run(async (context) => (await import('./commands/wallet.ts')).walletExport(context)))
}
