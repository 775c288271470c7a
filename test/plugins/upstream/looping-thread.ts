/** What never comes to an end by itself. */
for (;;);
