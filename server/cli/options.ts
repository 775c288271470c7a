import { type Command, InvalidArgumentError } from 'commander'

export const KEYSTORE = [
  '--keystore <file>',
  'a keystore of version 3, as geth and Foundry write it',
] as const

export const WITNESS = [
  '--witness <keys...>',
  'verifier keys of witnesses (C2SP) that must have cosigned the root over all checkpoints',
] as const

export const QUORUM = [
  '--quorum <n>',
  'how many of these witnesses must have cosigned (default: all)',
  parseQuorum,
] as const

/** @throws InvalidArgumentError for anything but a count */
function parseQuorum(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number from 1 to 99.')
}

/** Adds the options of a command that prints one page of a list. */
export const withPaging = (command: Command): Command =>
  command
    .option('--limit <n>', 'rows, 1 to 100', '20')
    .option('--cursor <cursor>', 'continue from this cursor')
