import type { Command } from 'commander'
import type { Run } from '../program.ts'

/** Commands for those who sell: `hub plugin new` and `hub plugin test`. */
export function pluginCommands(program: Command, run: Run): void {
  const group = program
    .command('plugin')
    .description('sell a service of your own: begin, and try it')
  group
    .command('new')
    .argument('<name>', 'of its package and its address: lower-case letters, digits and hyphens')
    .argument('[folder]', 'where it goes; left out: a folder of that name')
    .option('--provider <id>', 'who earns', 'me')
    .description('make a folder with a service, its test and all that it needs')
    .action(
      run(async (context, flags: object, name: string, folder?: string) =>
        (await import('./new.ts')).newPlugin(context, { name, folder, ...flags }),
      ),
    )
  group
    .command('test')
    .argument('[plugin]', 'a folder, or the name of a package', '.')
    .option('--runs <how>', 'worker, or process+http+secret:NAME: how it runs')
    .option('--home <folder>', 'a clone of the hub with its packages (HUB_HOME)')
    .description('try it in a sandbox of its own: does it what every plugin must?')
    .action(
      run(async (context, flags: object, plugin: string) =>
        (await import('./test.ts')).testPlugin(context, plugin, flags),
      ),
    )
}
