import { Command, InvalidArgumentError, Option } from 'commander'
import { dollars as decimal, MIN_TOP_UP } from '../../core/money.ts'
import { assistants } from './assistants.ts'
import type { Run } from './context.ts'
import { formatExamples } from './examples.ts'
import { keyCommands } from './key-commands.ts'
import { KEYSTORE, QUORUM, WITNESS, withPaging } from './options.ts'
import { pluginCommands } from './plugin/program.ts'

const SECONDS_MAX = 3_600

/** @throws InvalidArgumentError for anything but a number of seconds */
function parseSeconds(text: string): number {
  if (/^\d{1,4}$/.test(text) && Number(text) <= SECONDS_MAX) return Number(text)
  throw new InvalidArgumentError(`It must be a number of seconds from 0 to ${SECONDS_MAX}.`)
}

/** Builds the command line. @param version of the package */
export function createProgram(version: string, run: Run): Command {
  const program = new Command('hub')
    .description('Find APIs, pay for them per request, call them.')
    .version(version, '-V, --version', 'print the version')
    .option('--hub <url>', 'the hub to talk to (HUB_BASE_URL)')
    .option('--config-dir <folder>', 'folder of keys and settings (HUB_CONFIG_DIR)')
    .option('--json', 'print one JSON object, money in microdollars')
    .addOption(
      new Option('--format <how>', 'output format; json is the same as --json').choices([
        'pretty',
        'json',
      ]),
    )
    .on('option:format', (how: string) => program.setOptionValue('json', how === 'json'))
    .option('-y, --yes', 'answer yes to every question')
    .option('--wait <seconds>', 'maximum wait for a restarting hub (default 60)', parseSeconds)
    .option('--no-color', 'disable colors (NO_COLOR)')
    .helpOption('-h, --help', 'show help')
    .addHelpText('beforeAll', ({ command }) => formatExamples(command))
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .showHelpAfterError('(hub --help shows how it is used)')
  addMoneyCommands(program, run)
  addSearchCommands(program, run)
  addCallCommands(program, run)
  keyCommands(program, run)
  addWalletCommands(program, run)
  assistants(program, run)
  pluginCommands(program, run)
  return program
}

function addMoneyCommands(program: Command, run: Run): void {
  program
    .command('register')
    .description('register a wallet and store the API key')
    .option(...KEYSTORE)
    .option('--show-key', 'print the key')
    .option('--new', 'add another key and use it, even if one is stored')
    .action(
      run(async (context, flags: object) =>
        (await import('./commands/register.ts')).register(context, flags),
      ),
    )
  program
    .command('balance')
    .description('show credits, free calls, limits and spending this month')
    .action(run(async (context) => (await import('./commands/balance.ts')).balance(context)))
  program
    .command('topup')
    .argument('<dollars>', `at least ${decimal(MIN_TOP_UP)}`)
    .description('buy credits with USDC from the wallet, with one signature')
    .option(...KEYSTORE)
    .option('--purchase-id <name>', 'idempotency key: purchased once, even if repeated')
    .action(
      run(async (context, flags: object, dollars: string) =>
        (await import('./commands/topup.ts')).topup(context, dollars, flags),
      ),
    )
  withPaging(program.command('history'))
    .description('list calls and other changes of the credits, newest first')
    .option('--movements', 'each entry of the ledger, instead of one row per call')
    .action(
      run(async (context, flags: object) =>
        (await import('./commands/history.ts')).history(context, flags),
      ),
    )
  program
    .command('payouts')
    .description('show earnings, and why a payout waits and until when')
    .action(run(async (context) => (await import('./commands/payouts.ts')).payouts(context)))
  addReceiptCommands(program, run)
}

function addReceiptCommands(program: Command, run: Run): void {
  const receipts = program.command('receipts').description('work with receipts of calls')
  withPaging(receipts.command('list'))
    .description('list calls paid by credits or x402, newest first; each has a receipt')
    .action(
      run(async (context, flags: object) =>
        (await import('./commands/receipts.ts')).listReceipts(context, flags),
      ),
    )
  receipts
    .command('verify')
    .argument('<receipt>', 'the value of X-Receipt, the id of a call, or the file of a proof')
    .option('--keys <file>', "the hub's /.well-known/jwks.json, to verify offline")
    .option(...WITNESS)
    .option(...QUORUM)
    .description("verify a receipt, or a proof of a call, with the hub's public keys")
    .action(
      run(async (context, flags: object, receipt: string) =>
        (await import('./commands/receipts.ts')).checkReceipt(context, receipt, flags),
      ),
    )
  receipts
    .command('prove')
    .argument('<call>', 'id of a call that was charged')
    .description('print a proof that the ledger has the call; verify it anywhere, at any time')
    .action(
      run(async (context, flags: object, call: string) =>
        (await import('./commands/receipts.ts')).proveReceipt(context, call, flags),
      ),
    )
  receipts
    .command('compare')
    .argument('<file>', 'a stored proof of a call, or a checkpoint of the ledger')
    .option('--keys <file>', "the hub's /.well-known/jwks.json, stored with the file")
    .option(...WITNESS)
    .option(...QUORUM)
    .description('check that the ledger still has all that a file covers; --json prints a proof')
    .action(
      run(async (context, flags: object, file: string) =>
        (await import('./commands/log-proof.ts')).compareLog(context, file, flags),
      ),
    )
}

function addSearchCommands(program: Command, run: Run): void {
  withPaging(program.command('search'))
    .argument('[words...]', 'what the service should do; omit to list everything')
    .description('find services, best first')
    .option('--category <name>', 'only this category')
    .option('--max-price <usd>', 'only services with an endpoint up to this price, such as 0.01')
    .option('--external', 'only external x402 APIs')
    .option('--native', 'only native services')
    .action(
      run(async (context, flags: object, words: readonly string[]) =>
        (await import('./commands/search.ts')).search(context, words, flags),
      ),
    )
  program
    .command('show')
    .argument('<slug>', 'such as analysis')
    .description('show a service with its endpoints and prices')
    .action(
      run(async (context, _: object, slug: string) =>
        (await import('./commands/show.ts')).show(context, slug),
      ),
    )
}

function addCallCommands(program: Command, run: Run): void {
  program
    .command('call')
    .argument('<target>', 'slug/path, the URL of an x402 API, or a saved tool')
    .description('call a service; free calls pay first, then credits; failures are not charged')
    .option('-X, --method <method>', 'GET, POST, PUT, PATCH or DELETE')
    .option('-d, --data <data>', 'the body: JSON or text, @file, or - for standard input')
    .option('-q, --query <name=value>', 'a query parameter; may be repeated', collect)
    .option('-H, --header <line>', 'a header; may be repeated', collect)
    .option('--max-price <usd>', 'maximum price (HUB_MAX_PRICE, default 0.10)')
    .option('--accept-pay-to <address>', 'pay an x402 API at this new payee address')
    .option('--dry-run', 'show the price and the source of payment without calling')
    .option('--idempotency-key <name>', 'idempotency key: charged once, even if repeated')
    .option(
      '--pay <how>',
      'credits, siwx (credits of the wallet, without a key), x402, mpp (from the wallet), or auto',
      'auto',
    )
    .option(...KEYSTORE)
    .option('-o, --output <file>', 'write the response to a file')
    .option('-i, --include', 'also print the response headers')
    .action(
      run(async (context, flags: object, target: string) =>
        (await import('./commands/call.ts')).callCommand(context, target, flags),
      ),
    )
  program
    .command('add')
    .argument('<target>', 'the URL of an x402 API, or slug/path')
    .description('save a service under a name for `hub call NAME`')
    .option('--name <name>', 'lower-case letters, digits and hyphens')
    .option('-X, --method <method>', 'HTTP method')
    .option('--description <text>', 'description')
    .action(
      run(async (context, flags: object, target: string) =>
        (await import('./commands/tools.ts')).add(context, target, flags),
      ),
    )
  const tools = program
    .command('tools')
    .description('list the saved tools')
    .action(run(async (context) => (await import('./commands/tools.ts')).tools(context)))
  tools
    .command('forget')
    .argument('<name>')
    .description('delete a saved tool')
    .action(
      run(async (context, _: object, name: string) =>
        (await import('./commands/tools.ts')).forget(context, name),
      ),
    )
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
]

function addWalletCommands(program: Command, run: Run): void {
  const group = program.command('wallet').description('manage the wallet that registers and pays')
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
    .description('encrypt its file with a password')
    .action(run(async (context) => (await import('./commands/wallet.ts')).walletEncrypt(context)))
  group
    .command('export')
    .description('show its private key (only in a terminal)')
    .action(run(async (context) => (await import('./commands/wallet.ts')).walletExport(context)))
}
