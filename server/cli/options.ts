import type { Command } from 'commander'

export const KEYSTORE = [
  '--keystore <file>',
  'a keystore of version 3, as geth and Foundry write it',
] as const

/** Adds the options of a command that prints one page of a list. */
export const withPaging = (command: Command): Command =>
  command
    .option('--limit <n>', 'rows, 1 to 100', '20')
    .option('--cursor <cursor>', 'continue from this cursor')
