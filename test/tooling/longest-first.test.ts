import { existsSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { longFiles } from './longest-first.ts'

test.each(longFiles)('%s, which is started first, exists', (file) => {
  expect(existsSync(file)).toBe(true)
})
