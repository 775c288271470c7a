import type { Command } from 'commander'
import type { Context, Run } from './context.ts'

/** Adds the commands for AI assistants and for those who set them up. */
export function assistants(program: Command, run: Run): void {
  program
    .command('install')
    .argument('[clients...]', 'such as claude-code cursor; by default all that are found')
    .description('install the hub in AI assistants as an MCP server')
    .option('--scope <scope>', 'user, or project: this folder', 'user')
    .option('--remove', 'remove it')
    .option('--dry-run', 'show the changes without making them')
    .option('--print', 'print the entries to add manually')
    .option('--list', 'list known assistants and which are installed')
    .option('--inline-key', 'write the key itself if nothing better is supported')
    .action(
      run(async (context, flags: object, clients: readonly string[]) =>
        (await import('./install/command.ts')).install(context, clients, flags),
      ),
    )
  program
    .command('mcp')
    .description('run an MCP server over stdio, for assistants that start a command')
    .action(run(async (context) => (await import('./commands/mcp.ts')).bridge(context)))
  program
    .command('auth-header')
    .description('print the Authorization header as JSON, for assistants that run a helper')
    .action(
      run(async ({ store }) => {
        const authorization = { Authorization: `Bearer ${await store.apiKey()}` }
        process.stdout.write(`${JSON.stringify(authorization)}\n`)
      }),
    )
  program
    .command('doctor')
    .description('check everything that a call needs')
    .action(run(async (context) => (await import('./commands/doctor.ts')).doctor(context)))
  program
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish')
    .description('print a completion script')
    .action(
      run(async (_: Context, __: object, shell: string) => {
        const { completion } = await import('./commands/completion.ts')
        const { CLIENTS } = await import('./install/clients.ts')
        const values = { install: CLIENTS.map(({ id }) => id), completion: ['bash', 'zsh', 'fish'] }
        process.stdout.write(completion(program, shell, values))
      }),
    )
}
