/**
 * A character that a reader does not see or that changes the order of others: controls, format characters such as those
 * of bidirectional text, ends of lines, lone surrogates, and all that Unicode lets a program leave out. Text that names
 * an actor or a reason has none, because what it shows could be another text.
 */
export const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
