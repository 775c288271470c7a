/** Loops forever. */
for (;;);
