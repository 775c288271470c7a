import type { Command } from 'commander'
import type { Run } from './context.ts'
import { KEYSTORE } from './options.ts'

/** Adds the commands for keys: those stored here and their sub-keys. */
export function keyCommands(program: Command, run: Run): void {
  const group = program.command('keys').description('manage stored keys and their sub-keys')
  storedKeyCommands(group, run)
  subKeyCommands(group, run)
}

function storedKeyCommands(group: Command, run: Run): void {
  group
    .command('list')
    .description('list the stored keys and their sub-keys')
    .action(run(async (context) => (await import('./commands/stored-keys.ts')).listKeys(context)))
  group
    .command('use')
    .argument('<key-id>', 'a stored key')
    .description('choose the stored key that commands use')
    .action(
      run(async (context, _: object, id: string) =>
        (await import('./commands/stored-keys.ts')).useKey(context, id),
      ),
    )
  group
    .command('transfer')
    .argument('<from>', 'key that pays')
    .argument('<to>', 'key that receives')
    .argument('<dollars>', 'such as 2.50')
    .description('move credits between two main keys of the wallet, signed by the wallet')
    .option(...KEYSTORE)
    .action(
      run(async (context, flags: object, ...names: [string, string, string]) =>
        (await import('./commands/stored-keys.ts')).transferCredits(context, names, flags),
      ),
    )
}

function subKeyCommands(group: Command, run: Run): void {
  withLimits(group.command('create'))
    .description('create a sub-key; it is shown once')
    .option('--name <name>')
    .action(
      run(async (context, flags: object) =>
        (await import('./commands/keys.ts')).createKey(context, flags),
      ),
    )
  withLimits(group.command('limit'))
    .argument('<key-id>')
    .description('change limits of a sub-key; "none" removes one')
    .action(
      run(async (context, flags: object, id: string) =>
        (await import('./commands/keys.ts')).limitKey(context, id, flags),
      ),
    )
  group
    .command('rate')
    .argument('<requests>', 'requests per minute, such as 5000')
    .argument('<purpose>', 'what they are for')
    .description('ask for a higher rate limit; an administrator decides')
    .option('--key <key-id>', 'a main key (default: the key in use)')
    .action(
      run(async (context, flags: object, ...order: [string, string]) =>
        (await import('./commands/keys.ts')).requestRate(context, order, flags),
      ),
    )
  group
    .command('rotate')
    .argument('<key-id>')
    .description('rotate the secret of a key')
    .option('--overlap <seconds>', 'how long the old secret keeps working')
    .action(
      run(async (context, flags: object, id: string) =>
        (await import('./commands/keys.ts')).rotateKey(context, id, flags),
      ),
    )
  group
    .command('revoke')
    .argument('<key-id>')
    .description('permanently revoke a key and its sub-keys')
    .action(
      run(async (context, _: object, id: string) =>
        (await import('./commands/keys.ts')).revokeKey(context, id),
      ),
    )
}

const withLimits = (command: Command): Command =>
  command
    .option('--max-call <usd>', 'maximum price of a call')
    .option('--max-day <usd>', 'maximum spend per UTC day')
    .option('--max-total <usd>', 'total limit')
    .option('--services <slugs>', 'only these services, separated by commas')
    .option('--expires <date>', 'such as 2027-01-31')
