import type { Command } from 'commander'
import type { Run } from '../context.ts'

/** Adds the commands for providers: `hub plugin new` and `hub plugin test`. */
export function pluginCommands(program: Command, run: Run): void {
  const group = program.command('plugin').description('create and test a service to sell')
  group
    .command('new')
    .argument('<name>', 'package name and slug: lower-case letters, digits and hyphens')
    .argument('[folder]', 'target folder; by default named after the plugin')
    .option('--provider <id>', 'provider that earns', 'me')
    .description('create a folder with a service, its test and its configuration')
    .action(
      run(async (context, flags: object, name: string, folder?: string) =>
        (await import('./new.ts')).newPlugin(context, { name, folder, ...flags }),
      ),
    )
  group
    .command('test')
    .argument('[plugin]', 'a folder, or the name of a package', '.')
    .option('--runs <how>', 'how it runs: worker, or process+http+secret:NAME')
    .option('--home <folder>', 'a clone of the hub with its packages (HUB_HOME)')
    .description('run the conformance suite on it, in a sandbox')
    .action(
      run(async (context, flags: object, plugin: string) =>
        (await import('./test.ts')).testPlugin(context, plugin, flags),
      ),
    )
}
