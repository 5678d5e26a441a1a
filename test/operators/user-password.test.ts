import { Readable } from 'node:stream'
import { expect, test } from '@jest/globals'
import { passwordOf } from '#bin/user.ts'

const input = (text: string) => Readable.from([text])

test('a password is read from standard input, without the line end', async () => {
  const options = { 'password-stdin': true, stack: 'commerce-prod' }
  expect(await passwordOf(options, input('Correct horse 1!\n'))).toBe('Correct horse 1!')
})

test('a password among the arguments is refused on a deployed stack', async () => {
  await expect(passwordOf({ password: 'p', stack: 'commerce-prod' }, input(''))).rejects.toThrow(
    'use --password-stdin',
  )
})

test('a password among the arguments is taken on the local run', async () => {
  expect(await passwordOf({ password: 'p' }, input(''))).toBe('p')
})

test('an empty standard input is refused', async () => {
  await expect(passwordOf({ 'password-stdin': true }, input('\n'))).rejects.toThrow('holds no password')
})
