import type { Command } from 'commander'
import type { Context } from './context.ts'
import type { Run } from './program.ts'

/** Commands for assistants, and for who sets them up. */
export function assistants(program: Command, run: Run): void {
  program
    .command('install')
    .argument('[clients...]', 'such as claude-code cursor; none: those that are found here')
    .description('give the hub to your assistants, as an MCP server')
    .option('--scope <scope>', 'user, or project: this folder', 'user')
    .option('--remove', 'take it out again')
    .option('--dry-run', 'show what would change')
    .option('--print', 'print what to enter by hand')
    .option('--list', 'the assistants that are known, and which are here')
    .option('--inline-key', 'write the key itself where nothing better is possible')
    .action(
      run(async (context, flags: object, clients: readonly string[]) =>
        (await import('./install/command.ts')).install(context, clients, flags),
      ),
    )
  program
    .command('mcp')
    .description('MCP over stdin and stdout, for assistants that start a command')
    .action(run(async (context) => (await import('./commands/mcp.ts')).bridge(context)))
  program
    .command('auth-header')
    .description('print the header that authorizes, as JSON, for assistants that run a helper')
    .action(
      run(async ({ store }) => {
        const authorization = { Authorization: `Bearer ${await store.apiKey()}` }
        process.stdout.write(`${JSON.stringify(authorization)}\n`)
      }),
    )
  program
    .command('doctor')
    .description('look at everything that a call needs')
    .action(run(async (context) => (await import('./commands/doctor.ts')).doctor(context)))
  program
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish')
    .description('print a completion script')
    .action(
      run(async (_: Context, __: object, shell: string) => {
        const { completion } = await import('./commands/completion.ts')
        const { CLIENTS } = await import('./install/clients.ts')
        const values = {
          install: CLIENTS.map(({ id }) => id),
          completion: ['bash', 'zsh', 'fish'],
        }
        process.stdout.write(completion(program, shell, values))
      }),
    )
}
